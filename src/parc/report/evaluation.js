// Replays that stand side by side move together: one play button and one slider for the group, and turning, shifting or
// zooming one view does the same to the others. Works on the viewers of replay.js through their own controls.
(() => {
  "use strict";
  for (const group of document.querySelectorAll(".group")) {
    const viewers = [...group.querySelectorAll(".replay")].filter((v) => v.dataset.state === "ready");
    const master = group.querySelector(".master");
    if (!viewers.length || !master) continue;
    const sliders = viewers.map((v) => v.querySelector("input[type=range]"));
    const longest = Math.max(...sliders.map((s) => Number(s.max)));
    const play = master.querySelector("button"), slider = master.querySelector("input"), clock = master.querySelector(".time");
    slider.max = longest;
    let time = 0, playing = false, before = 0;
    const show = () => {
      slider.value = time;
      clock.textContent = `${time.toFixed(2)} / ${longest.toFixed(2)} s`;
      for (const s of sliders) {
        s.value = Math.min(time, Number(s.max));
        s.dispatchEvent(new Event("input"));
      }
    };
    const setPlaying = (on) => { playing = on; play.textContent = on ? "Pause all" : "Play all"; };
    const tick = (now) => {
      if (!playing) return;
      time = (time + Math.min((now - before) / 1000, 0.1)) % (longest || 1);
      before = now;
      show();
      requestAnimationFrame(tick);
    };
    play.onclick = () => { setPlaying(!playing); if (playing) { before = performance.now(); requestAnimationFrame(tick); } };
    slider.oninput = () => { setPlaying(false); time = Number(slider.value); show(); };
    for (const viewer of viewers) {
      viewer.querySelector("button").addEventListener("click", () => setPlaying(false));
      const canvas = viewer.querySelector("canvas");
      const others = viewers.filter((v) => v !== viewer).map((v) => v.querySelector("canvas"));
      canvas.addEventListener("pointermove", (event) => {
        if (!event.isTrusted || !event.buttons) return;
        const { buttons, movementX, movementY, shiftKey } = event;
        for (const other of others) other.dispatchEvent(new PointerEvent("pointermove", { buttons, movementX, movementY, shiftKey }));
      });
      canvas.addEventListener("wheel", (event) => {
        if (!event.isTrusted) return;
        for (const other of others) other.dispatchEvent(new WheelEvent("wheel", { deltaY: event.deltaY, cancelable: true }));
      }, { passive: true });
    }
    // Viewers begin at -60 and 22 degrees and 5 m: turn them to where the ground hides least, and step back a little.
    const movementX = (-60 - Number(group.dataset.azimuth)) / 0.4, movementY = (Number(group.dataset.elevation) - 22) / 0.3;
    for (const canvas of viewers.map((v) => v.querySelector("canvas"))) {
      canvas.dispatchEvent(new PointerEvent("pointermove", { buttons: 1, movementX, movementY }));
      canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: 350, cancelable: true }));
    }
    show();
  }
})();
