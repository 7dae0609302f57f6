// Tables of the class "sortable" are sorted by a click on a head; rows of the class "model-head" go.
document.querySelectorAll("table.sortable").forEach(function (table) {
  "use strict";
  var body = table.tBodies[0];
  function key(row, place, numbers) {
    var cell = row.cells[place];
    if (!cell) return null;
    var value = cell.dataset.value;
    if (!numbers) return (value === undefined ? cell.textContent : value).toLowerCase();
    return value === "" || value === undefined ? null : Number(value);
  }
  table.tHead.addEventListener("click", function (event) {
    var head = event.target.closest("th[data-sort]");
    if (!head) return;
    var place = head.cellIndex, numbers = head.dataset.sort === "n", now = head.getAttribute("aria-sort");
    var up = now ? now !== "ascending" : !numbers || place === 0;
    var rows = Array.from(body.rows).filter(function (row) { return !row.classList.contains("model-head"); });
    rows.sort(function (a, b) {
      var x = key(a, place, numbers), y = key(b, place, numbers);
      if (x === null || y === null) return (x === null) - (y === null);
      return (x < y ? -1 : x > y ? 1 : 0) * (up ? 1 : -1);
    });
    body.replaceChildren.apply(body, rows);
    table.querySelectorAll("th[aria-sort]").forEach(function (each) { each.removeAttribute("aria-sort"); });
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    table.dispatchEvent(new Event("sorted"));
  });
});
