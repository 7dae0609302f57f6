// What `packed` made of a value: base 64, deflated, JSON. A promise of the value.
function bfclInflate(text) {
  "use strict";
  var bytes = Uint8Array.from(atob(text), function (character) { return character.charCodeAt(0); });
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).json();
}
