(function () {
  "use strict";
  var root = document.documentElement, key = "pytest-bfcl-theme";
  function stored() { try { return localStorage.getItem(key); } catch (e) { return null; } }
  function keep(value) { try { localStorage.setItem(key, value); } catch (e) { /* private mode */ } }
  var chosen = stored();
  if (chosen === "dark" || chosen === "light") root.setAttribute("data-theme", chosen);
  function isDark() {
    var set = root.getAttribute("data-theme");
    return set ? set === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }
  document.addEventListener("click", function (event) {
    var button = event.target.closest && event.target.closest("button");
    if (!button) return;
    if (button.id === "theme") {
      var next = isDark() ? "light" : "dark";
      root.setAttribute("data-theme", next);
      keep(next);
    } else if (button.hasAttribute("data-copy")) {
      var text = document.getElementById(button.getAttribute("data-copy")).textContent;
      function done() { button.textContent = "Copied"; setTimeout(function () { button.textContent = "Copy"; }, 1500); }
      if (navigator.clipboard && isSecureContext) navigator.clipboard.writeText(text).then(done, function () {});
      else {
        var range = document.createRange();
        range.selectNodeContents(document.getElementById(button.getAttribute("data-copy")));
        getSelection().removeAllRanges();
        getSelection().addRange(range);
        if (document.execCommand("copy")) done();
      }
    }
  });
})();
