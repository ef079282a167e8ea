(function () {
  "use strict";

  function compare(a, b) {
    var x = Number(a), y = Number(b);
    if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y;
    return a.localeCompare(b, undefined, { numeric: true, sensitivity: "base" });
  }

  function sortBy(table, column, direction) {
    var body = table.tBodies[0];
    var rows = Array.prototype.map.call(body.rows, function (row, place) {
      return { row: row, place: place, key: row.cells[column].dataset.sort || row.cells[column].textContent.trim() };
    });
    rows.forEach(function (one) { if (one.row.cells[column].dataset.sort === "") one.key = ""; });
    rows.sort(function (a, b) {
      if ((a.key === "") !== (b.key === "")) return a.key === "" ? 1 : -1;
      return direction * compare(a.key, b.key) || a.place - b.place;
    });
    rows.forEach(function (one) { body.appendChild(one.row); });
  }

  function makeSortable(table) {
    var heads = table.tHead.rows[0].cells;
    Array.prototype.forEach.call(heads, function (head, column) {
      var button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      while (head.firstChild) button.appendChild(head.firstChild);
      head.appendChild(button);
      button.addEventListener("click", function () {
        var upward = head.getAttribute("aria-sort") !== "ascending";
        Array.prototype.forEach.call(heads, function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", upward ? "ascending" : "descending");
        sortBy(table, column, upward ? 1 : -1);
      });
    });
  }

  function openTarget() {
    var target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    var folded = target && target.querySelector("details.body");
    if (folded) folded.open = true;
  }

  function openAll() {
    document.querySelectorAll("details:not(.fold)").forEach(function (details) {
      if (!details.open) { details.open = true; details.dataset.closed = ""; }
    });
  }

  function closeAgain() {
    document.querySelectorAll("details[data-closed]").forEach(function (details) {
      details.open = false;
      delete details.dataset.closed;
    });
  }

  document.querySelectorAll("table[data-sortable]").forEach(makeSortable);
  window.addEventListener("hashchange", openTarget);
  window.addEventListener("beforeprint", openAll);
  window.addEventListener("afterprint", closeAgain);
  openTarget();
})();
