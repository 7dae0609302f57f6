// The list of a run's page in a static site: unpacked, then shown by the page's own script.
(function () {
  "use strict";
  var own = document.currentScript.dataset.then, found = JSON.parse(document.getElementById("packed").textContent);
  bfclInflate(found).then(function (data) {
    var script = document.createElement("script");
    document.getElementById("data").textContent = JSON.stringify(data);
    script.src = own;
    document.body.appendChild(script);
  });
})();
