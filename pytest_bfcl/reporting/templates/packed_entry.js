// An entry's page made of packed values (`packed_values`), as text: nothing of them is markup. As entry.html.jinja.
var bfclHidden = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\u{e0000}-\u{e007f}]/gu;
function bfclVisible(text) {
  "use strict";
  return String(text).replace(bfclHidden, function (found) {
    var code = found.codePointAt(0).toString(16);
    return found === "\r" ? "" : code.length < 3 ? "\\x" + code.padStart(2, "0") : code.length < 5 ? "\\u" + code.padStart(4, "0") : "\\U" + code.padStart(8, "0");
  });
}
function bfclNode(tag, name) {
  "use strict";
  var made = document.createElement(tag);
  if (name) made.className = name;
  Array.prototype.slice.call(arguments, 2).flat(9).forEach(function (part) {
    if (part || part === 0) made.append(part instanceof Node ? part : bfclVisible(part));
  });
  return made;
}
function bfclLink(href, id, words) {
  "use strict";
  var made = bfclNode("a", "", words);
  made.href = href;
  made.id = id;
  return made;
}
function bfclTop(links, outcome) {
  "use strict";
  var theme = bfclNode("button", "", "◐ theme"), made = bfclNode("nav", "pages noprint", bfclLink(links.up, "up", "← all entries"),
    links.previous && bfclLink(links.previous, "previous", "‹ previous " + outcome), links.next && bfclLink(links.next, "next", "next " + outcome + " ›"), bfclNode("span", "push", theme));
  theme.type = "button";
  theme.id = "theme";
  made.setAttribute("aria-label", "report");
  return made;
}
function bfclTrouble(words, links) { return bfclNode("main", "", bfclTop(links, "entry"), bfclNode("p", "notice", words)); }
function bfclEntry(page, documents, links) {
  "use strict";
  var node = bfclNode;
  function chip(outcome) { return outcome ? node("span", "chip " + outcome, outcome) : ""; }
  function fold(words, open, inside) {
    var made = node("details", "", node("summary", "soft small", words), inside);
    made.open = open;
    return made;
  }
  function text(found) {
    var body = node("div", "body", found[0]), words = found[0].length + found[1] + " characters";
    return [found[2] ? fold(words, found[0].length < 3000, body) : body,
      found[1] ? node("p", "soft small", "… " + found[1] + " more characters; the whole text is in the run's transcripts.") : ""];
  }
  function named(name) {
    return name.split(/(?<=_)|(?<=\w[.:\/])(?=[a-z])/i).map(function (part, n) { return n ? [document.createElement("wbr"), part] : part; });
  }
  function facts(name, rows) { return rows.length ? node("dl", "facts" + name, rows.map(function (row) { return [node("dt", "", row[0]), node("dd", "", row[1])]; })) : ""; }
  function calls(heading, found, name) {
    return node("div", "", node("h2", "", heading), found.map(function (call) {
      return node("pre", name, call[0], call[1] && [" ", node("span", "mark", "✗ " + call[1])], call[2] && "\n    → " + call[2]);
    }));
  }
  function message(said) {
    var words = said[1][0].length + said[1][1] + " characters";
    return said[0] === "user" ? node("div", "msg user", node("div", "who", "user"), text(said[1])) :
      node("div", "msg system", node("div", "who", said[0]), fold(words, false, node("div", "body", said[1][0])));
  }
  function step(found, several) {
    var said = found[1], made = found[3];
    return node("div", "msg model", node("div", "who", "model" + (several ? ", step " + found[0] : ""), found[4] && node("span", "facts", " · " + found[4])),
      found[2] && fold("reasoning", false, node("div", "body soft", found[2][0])),
      said && (said[0] ? text(said) : node("div", "body soft", "(an empty reply)")),
      said && made.length ? node("div", "soft small", "read as") : "",
      made.map(function (call) {
        return node("div", "call", node("code", "", call[0]), call[1] && node("div", "result" + (call[2] ? " wrong" : ""), call[2] && node("b", "", "error"), text(call[1])));
      }), found[5] && node("div", "soft small", "These calls could not be read."));
  }
  function turn(found, number, all) {
    return node("section", "turn", all.length > 1 && node("h3", "", "Turn " + found[0] + " of " + all.length), found[1].map(message),
      found[2].map(function (each) { return step(each, found[2].length > 1); }), !found[2].length && node("p", "soft", "No reply in this turn."));
  }
  function drawn(tag, facts, inside) {
    var made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    Object.keys(facts).forEach(function (name) { made.setAttribute(name, facts[name]); });
    (inside || []).forEach(function (part) { made.append(part); });
    return made;
  }
  function timeline(steps) {
    if (!steps.length) return "";
    var legend = "Each bar is a step" + (steps[0][4] ? ", as long as the model took" : "") + "; the two colours alternate with the turns" +
      (steps.some(function (each) { return each[5]; }) ? "; red: a call failed" : "") + ".";
    return [drawn("svg", { class: "timeline", viewBox: "0 0 1000 26", preserveAspectRatio: "none", role: "img",
      "aria-label": steps.length + " steps in " + turns.length + " turns, as long as the model took" }, steps.map(function (each) {
      var told = drawn("title", {}, ["turn " + each[0] + ", step " + each[1] + (each[4] && ", " + each[4]) + (each[5] ? ", a call failed" : "")]);
      return drawn("rect", { class: each[5] ? "wrong" : "f" + each[0] % 2, x: each[2], y: 3, width: each[3], height: 20 }, [told]);
    })), node("p", "soft small", legend)];
  }
  function parameters(rows) {
    var head = node("tr", "", ["parameter", "type", "description"].map(function (name) { return node("th", "", name); }));
    var made = node("div", "scroll", node("table", "small", node("thead", "", head), node("tbody", "", rows.map(function (row) {
      return node("tr", "", node("td", "mono", named(row[0]), row[3] && node("b", "", " *")), node("td", "mono", row[1]),
        node("td", "", row[2], row[4] && [" ", node("code", "soft", row[4])]));
    }))));
    made.tabIndex = 0;
    return made;
  }
  function offered(found) {
    if (!found.length) return "";
    var names = found.map(function (each) { return documents[each[0]][0]; }).join(", ");
    var made = fold([found.length + " function" + (found.length > 1 ? "s" : "") + ": ", node("span", "mono", names)], found.length < 3, found.map(function (each) {
      var one = documents[each[0]];
      return node("div", "fn", node("b", "mono", named(one[0])), each[1] && node("span", "soft small", " " + each[1]), node("div", "body small", one[1]), one[2].length ? parameters(one[2]) : "");
    }).concat(node("p", "soft small", "* required")));
    made.className = "panel";
    return [node("h2", "", "Functions offered"), made];
  }
  var about = page[0], why = page[1], turns = page[2], again = node("pre", "", page[4]), copy = node("button", "noprint", "Copy");
  var corrected = about[13].map(function (rule) { return [node("br"), node("b", "", rule[0]), " ", rule[1]]; });
  again.id = "command";
  copy.type = "button";
  copy.dataset.copy = "command";
  return node("main", "", bfclTop(links, about[4]),
    node("h1", "", node("span", "mono", named(about[0])), " ", chip(about[4])),
    node("p", "soft", [about[1], about[2], about[3] > 1 && "repeat " + about[3], about[5]].filter(Boolean).join(" · ")),
    about[8].map(function (words) { return node("p", "notice", words); }),
    about[6] && node("p", "request", node("b", "", "Request" + about[7] + ":"), " ", about[6]),
    node("section", "verdict " + about[4] + "-by",
      why[0] || about[4] === "passed" ? node("p", "say", why[0] || "Right: the rules of this category are met.") : "",
      why[1].length || why[3].length ? node("div", "two", calls("expected", why[1], "expected"), calls(why[2], why[3], "")) : "",
      facts("", why[4].concat(why[5] ? [["rule", why[5]]] : [], why[6] ? [["advice", why[6]]] : [])),
      facts(" small", [["official rules", [chip(about[9]), " ", about[10]]], ["corrected rules", [chip(about[11]), " ", about[12], corrected]]])),
    node("h2", "", "Conversation"), timeline(page[5]), turns.length ? turns.map(turn) : node("p", "soft", "Nothing was recorded."),
    offered(page[6]),
    node("h2", "", "Usage"), page[3].length ? facts("", page[3]) : node("p", "soft", "nothing was recorded"),
    node("h2", "", "Send it again"), node("div", "copy", again, copy));
}
