// What htmx does not do: live updates, hover and zoom of figures, the theme, dialogs, dropped files, and problems in words.
"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const body = document.body;

  // Live: the study says when it has changed; every part is fetched again, no more often than it says itself.
  const last = new WeakMap(), waiting = new WeakMap();
  let missed = false;
  function refresh(part) {
    if (document.hidden) { missed = true; return; }
    if (waiting.has(part) || part.contains(document.activeElement) && part.querySelector("details[open] form")) return;
    const pause = 1000 * Number(part.dataset.live) - (Date.now() - (last.get(part) || 0));
    waiting.set(part, setTimeout(() => {
      waiting.delete(part);
      if (!part.isConnected) return;
      last.set(part, Date.now());
      htmx.trigger(part, "refresh");
    }, Math.max(pause, 50)));
  }
  const isShown = (part) => part.classList.contains("htmx-request") || !part.querySelector(":scope > .loading");
  const refreshAll = () => all("[data-live]").filter(isShown).forEach(refresh);
  let source, known;
  function listen() {
    if (!body.dataset.events || source || document.hidden) return;
    source = new EventSource(body.dataset.events);
    source.addEventListener("change", (event) => {
      if (known !== undefined && known !== event.data) refreshAll();
      known = event.data;
    });
    source.addEventListener("error", () => {
      if (source.readyState !== EventSource.CLOSED) return;
      source = undefined;
      setTimeout(listen, 5000);
    });
  }
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { source?.close(); source = undefined; return; }
    if (missed) refreshAll();
    missed = false;
    listen();
  });
  window.addEventListener("pagehide", () => { source?.close(); source = undefined; });
  window.addEventListener("pageshow", listen);
  listen();
  if (!body.dataset.events && document.querySelector("[data-live]")) setInterval(refreshAll, 10000);

  // Parts that were a little old say when to ask again; the counters are spoken.
  body.addEventListener("htmx:afterSettle", (event) => {
    const part = event.detail.elt;
    all("[data-again]", part.parentElement || part).forEach((old) => {
      const live = old.closest("[data-live]"), seconds = Number(old.dataset.again);
      old.removeAttribute("data-again");
      if (live) setTimeout(() => live.isConnected && refresh(live), 1000 * seconds + 100);
    });
    const spoken = document.getElementById("counters")?.dataset.spoken, announce = document.getElementById("announce");
    if (spoken && announce.dataset.said && announce.dataset.said !== spoken) announce.textContent = spoken;
    if (spoken) announce.dataset.said = spoken;
  });

  // The keyboard stays where it was when a part is fetched anew: at what has the same name there, or at the part itself.
  const CHOSEN = "a[href], button, input, select, textarea, summary, [tabindex]";
  const nameOf = (elt) => [elt.tagName, elt.localName === "svg" ? "" : elt.id || elt.getAttribute("aria-label") || elt.name
    || elt.firstChild?.textContent].join(" ");
  let left;
  body.addEventListener("htmx:beforeSwap", ({ detail: { target, shouldSwap } }) => {
    const active = document.activeElement, focused = active.closest("dialog")?.opener || active;
    if (shouldSwap && focused !== body && target.contains(focused)) left = { part: target.id, name: nameOf(focused) };
  });
  function stay() {
    const part = left && document.getElementById(left.part), name = left?.name;
    if (!part || document.querySelector("dialog[open]")) return;
    left = undefined;
    const active = document.activeElement;
    if (active !== body && !active.closest("dialog")) return;
    const same = all(CHOSEN, part).find((each) => nameOf(each) === name);
    if (!same) part.tabIndex = -1;
    (same || part).focus({ preventScroll: true });
  }
  body.addEventListener("htmx:afterSettle", stay);

  // Problems: the server says what is wrong and what to do; it is shown beside the form, or at the foot of the page.
  function show(words, elt) {
    const form = elt?.closest?.("form");
    const places = form ? all(".form-error", form) : [];
    const place = places[places.length - 1];
    if (place) { place.textContent = words; return; }
    const problems = document.getElementById("problems");
    problems.textContent = words;
    clearTimeout(problems.timer);
    problems.timer = setTimeout(() => { problems.textContent = ""; }, 12000);
  }
  body.addEventListener("htmx:beforeRequest", (event) => {
    const form = event.detail.elt.closest("form");
    if (form) all(".form-error", form).forEach((place) => { place.textContent = ""; });
  });
  body.addEventListener("htmx:responseError", (event) => {
    let words = `The server refused that (${event.detail.xhr.status}).`;
    try { words = JSON.parse(event.detail.xhr.responseText).detail; } catch { /* not a problem in JSON */ }
    if (event.detail.xhr.status === 401) words = "You are not signed in any more: reload the page.";
    const part = event.detail.elt.closest("[data-live]"), empty = part?.querySelector(":scope > .loading");
    if (empty) { empty.className = "missing failed"; empty.textContent = words; empty.removeAttribute("aria-busy"); return; }
    show(words, event.detail.elt);
  });
  body.addEventListener("htmx:sendError", (event) => show("The server does not answer. Nothing that it acknowledged is lost.", event.detail.elt));

  // Figures: drawn by the server at the width that there is, and of the part of the axis that was chosen.
  body.addEventListener("htmx:configRequest", (event) => {
    const figure = event.detail.elt.closest("[data-figure]");
    if (!figure) return;
    const wanted = event.detail.parameters;
    figure.dataset.width = figure.clientWidth;
    wanted.width = figure.clientWidth;
    for (const name of ["start", "end", "column"]) if (figure.dataset[name]) wanted[name] = figure.dataset[name];
  });
  const again = (figure) => htmx.trigger(figure, "refresh");
  let resized;
  window.addEventListener("resize", () => {
    clearTimeout(resized);
    resized = setTimeout(() => all("[data-figure]").filter((each) =>
      each.querySelector("svg") && Math.abs(each.clientWidth - each.dataset.width) > 12).forEach(again), 250);
  });
  function range(svg) {
    const value = (name) => Number(svg.dataset[name]), log = svg.dataset.log === "yes";
    const to = (x) => log ? Math.log10(x) : x, from = (x) => log ? 10 ** x : x;
    const low = to(value("low")), high = to(value("high")), start = value("start"), end = value("end");
    return { low, high, start, end, from, at: (x) => low + (high - low) * (x - start) / (end - start) };
  }
  function zoom(figure, low, high) {
    if (low === undefined) { delete figure.dataset.start; delete figure.dataset.end; }
    else { figure.dataset.start = low; figure.dataset.end = high; }
    again(figure);
  }
  const figureOf = (elt) => elt.closest(".figure").querySelector("[data-figure]");
  function zoomBy(figure, way) {
    const svg = figure.querySelector("svg.chart");
    if (way === "reset" || !svg) { zoom(figure); return; }
    const { low, high, from } = range(svg), middle = (low + high) / 2, half = (high - low) * (way === "in" ? 0.25 : 1);
    zoom(figure, from(middle - half), from(middle + half));
  }
  const inView = (svg, event) => {
    const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
    return { x: (event.clientX - box.left) * scale, y: (event.clientY - box.top) * scale };
  };

  // Hover, touch and arrow keys: the nearest mark says its value.
  const marksOf = new WeakMap();
  function marks(svg) {
    if (!marksOf.has(svg)) {
      const box = svg.getBoundingClientRect();
      const found = all("[data-tip]", svg).map((mark) => {
        const own = mark.getBoundingClientRect();
        return { mark, x: own.left + own.width / 2 - box.left, y: own.top + own.height / 2 - box.top };
      });
      marksOf.set(svg, found.sort((one, two) => one.x - two.x));
    }
    return marksOf.get(svg);
  }
  function tell(svg, found) {
    const tip = svg.parentElement.querySelector(".tip");
    all(".lit", svg).forEach((mark) => mark.classList.remove("lit"));
    if (!found) { tip.textContent = ""; tip.classList.remove("on"); return; }
    found.mark.classList.add("lit");
    tip.textContent = found.mark.dataset.tip;
    tip.classList.add("on");
    const room = svg.parentElement.clientWidth, half = tip.offsetWidth / 2;
    tip.style.left = `${Math.min(Math.max(found.x, half + 2), room - half - 2)}px`;
    tip.style.top = `${found.y > 56 ? found.y - tip.offsetHeight - 10 : found.y + 14}px`;
  }
  function nearest(svg, event) {
    const box = svg.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const own = event.target.closest?.("[data-tip]");
    if (own) return marks(svg).find((each) => each.mark === own);
    let best, least = 36;
    for (const each of marks(svg)) {
      const far = Math.hypot(each.x - x, (each.y - y) * 0.6);
      if (far < least) { least = far; best = each; }
    }
    return best;
  }
  let drag;
  body.addEventListener("pointermove", (event) => {
    if (drag) { select(event); return; }
    const svg = event.target.closest?.("svg.chart");
    if (svg) tell(svg, nearest(svg, event));
  });
  body.addEventListener("pointerout", (event) => {
    const svg = event.target.closest?.("svg.chart");
    if (svg && !svg.contains(event.relatedTarget)) tell(svg);
  });
  body.addEventListener("pointerdown", (event) => {
    const svg = event.target.closest?.("svg.chart");
    if (!svg) return;
    tell(svg, nearest(svg, event));
    if (event.pointerType === "touch" || event.button) return;
    drag = { svg, from: inView(svg, event).x };
  });
  function select(event) {
    const { svg, from } = drag, limits = range(svg), inside = (x) => Math.min(Math.max(x, limits.start), limits.end);
    const ends = [inside(from), inside(inView(svg, event).x)].sort((one, two) => one - two);
    if (!drag.rect && ends[1] - ends[0] < 6) return;
    if (!drag.rect) {
      drag.rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      drag.rect.setAttribute("class", "selection");
      drag.rect.setAttribute("y", 4);
      drag.rect.setAttribute("height", svg.viewBox.baseVal.height - 44);
      svg.append(drag.rect);
      tell(svg);
    }
    drag.ends = ends;
    drag.rect.setAttribute("x", ends[0]);
    drag.rect.setAttribute("width", ends[1] - ends[0]);
    event.preventDefault();
  }
  window.addEventListener("pointerup", () => {
    if (!drag) return;
    const { svg, rect, ends } = drag;
    drag = undefined;
    if (!rect) return;
    rect.remove();
    const { at, from } = range(svg);
    if (ends[1] - ends[0] > 6) zoom(svg.closest("[data-figure]"), from(at(ends[0])), from(at(ends[1])));
  });
  body.addEventListener("dblclick", (event) => {
    const figure = event.target.closest("svg.chart")?.closest("[data-figure]");
    if (figure) zoom(figure);
  });
  body.addEventListener("keydown", (event) => {
    const svg = event.target.closest?.("svg.chart");
    if (!svg) return;
    const found = marks(svg), now = found.findIndex((each) => each.mark.classList.contains("lit"));
    const step = { ArrowRight: 1, ArrowLeft: -1, Home: -now - 1 + 1, End: found.length - 1 - now }[event.key];
    if (event.key === "Escape") tell(svg);
    if (event.key === "+" || event.key === "-") zoomBy(svg.closest("[data-figure]"), event.key === "+" ? "in" : "out");
    if (step === undefined || !found.length) return;
    event.preventDefault();
    tell(svg, found[Math.min(Math.max(now + step, 0), found.length - 1)]);
  });

  // Buttons that need no server.
  const theme = () => document.documentElement.dataset.theme
    || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  body.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.zoom) zoomBy(figureOf(button), button.dataset.zoom);
    if ("themeSwitch" in button.dataset) {
      const other = theme() === "dark" ? "light" : "dark";
      document.documentElement.dataset.theme = other;
      document.cookie = `ostinato_theme=${other}; path=/; max-age=31536000; samesite=strict`;
    }
    if ("print" in button.dataset) window.print();
    if ("close" in button.dataset) button.closest("dialog").close();
    if (button.dataset.dialog) ask(button);
  });
  body.addEventListener("change", (event) => {
    if ("column" in event.target.dataset) {
      const figure = event.target.closest("[data-figure]");
      figure.dataset.column = event.target.value;
      zoom(figure);
    }
    if (event.target.type === "file") sendFile(event.target);
  });

  // One dialog to correct and to take back.
  function ask(button) {
    const dialog = document.getElementById("revise"), form = dialog.querySelector("form"), { dialog: what } = button.dataset;
    form.reset();
    form.setAttribute("hx-post", button.dataset.post);
    htmx.process(form);
    form.elements.number.value = button.dataset.number;
    form.elements.value.value = button.dataset.value;
    form.elements.value.required = what === "correct";
    all("[data-only]", form).forEach((each) => { each.hidden = each.dataset.only !== what; });
    form.querySelector("[data-title]").textContent = `${what === "correct" ? "Correct" : "Take back"} measurement ${button.dataset.number}`;
    form.querySelector("[data-about]").textContent = `${button.dataset.value || "failed"} of ${button.dataset.of}`;
    form.querySelector("[data-save]").textContent = what === "correct" ? "Save" : "Take back";
    form.querySelector(".form-error").textContent = "";
    dialog.opener = button;
    dialog.showModal();
    const first = what === "correct" ? form.elements.value : form.elements.why;
    first.focus();
    first.select();
  }
  body.addEventListener("htmx:afterRequest", (event) => {
    const dialog = event.detail.elt.closest("dialog");
    if (!dialog || !event.detail.successful) return;
    dialog.close();
    stay();
  });

  // A file, dropped or chosen: shown as it was understood before anything is made.
  function sendFile(input) {
    if (!input.files.length) return;
    const drop = input.closest("[data-drop]");
    drop.querySelector("span").textContent = ` ${input.files[0].name}`;
    htmx.ajax("POST", "/new/columns", { source: input.form, target: "#understood", swap: "outerHTML" });
  }
  for (const kind of ["dragenter", "dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, (event) => {
      const drop = document.querySelector("[data-drop]");
      if (!drop) return;
      event.preventDefault();
      drop.classList.toggle("over", kind === "dragenter" || kind === "dragover");
      if (kind !== "drop" || !event.dataTransfer.files.length) return;
      const input = drop.querySelector("input");
      input.files = event.dataTransfer.files;
      sendFile(input);
    });
  }
})();
