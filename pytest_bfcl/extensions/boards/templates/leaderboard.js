document.querySelectorAll("table.places").forEach(function (table) {
  "use strict";
  var body = table.tBodies[0];
  table.tHead.addEventListener("click", function (event) {
    var head = event.target.closest("th[data-sort]");
    if (!head) return;
    var place = head.cellIndex, numbers = head.dataset.sort === "n";
    var up = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") !== "ascending" : !numbers || place === 0;
    function key(row) {
      var cell = row.cells[place];
      if (!numbers) return cell.textContent.toLowerCase();
      return cell.dataset.value === "" ? null : Number(cell.dataset.value);
    }
    Array.from(body.rows).sort(function (a, b) {
      var x = key(a), y = key(b);
      if (x === null || y === null) return (x === null) - (y === null);
      return (x < y ? -1 : x > y ? 1 : 0) * (up ? 1 : -1);
    }).forEach(function (row) { body.appendChild(row); });
    table.querySelectorAll("th[aria-sort]").forEach(function (each) { each.removeAttribute("aria-sort"); });
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
  });
});
