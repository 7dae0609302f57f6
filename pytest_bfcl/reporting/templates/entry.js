(function () {
  "use strict";
  function go(id) { var link = document.getElementById(id); if (link) location.href = link.href; }
  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") go("up");
    else if (event.key === "j") go("next");
    else if (event.key === "k") go("previous");
  });
})();
