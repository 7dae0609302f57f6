// A page opened from a folder may start no worker. The search's runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.body.appendChild(document.createElement("iframe"));
      frame.hidden = true;
      frame.title = "search";
      const inside = frame.contentWindow;
      const loaded = (address) =>
        new Promise((done, failed) => {
          const script = inside.document.createElement("script");
          Object.assign(script, { src: address, onload: done, onerror: failed });
          inside.document.body.appendChild(script);
        });
      inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      inside.importScripts = (...addresses) =>
        addresses.reduce((before, each) => before.then(() => loaded(each)), Promise.resolve());
      this.inside = inside;
      this.ready = loaded(new URL(url, location.href).href);
    }
    postMessage(data) {
      this.ready.then(() => {
        const event = new this.inside.MessageEvent("message", { data });
        this.inside.dispatchEvent(event);
        if (this.inside.onmessage && !event.handled) this.inside.onmessage(event);
      });
    }
    terminate() {}
  };
  window.Worker = window.IFrameWorker;
}
