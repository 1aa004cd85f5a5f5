"use strict";
// Numbers, times and elements. Text of others only ever becomes text: nothing here makes markup of a string.
const page = {};

page.compact = value => {
  for (const [suffix, many] of [["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3]])
    if (Math.abs(value) >= many * 0.9995) return page.three(value / many) + suffix;
  return page.three(value);
};

page.three = value => {
  const size = Math.abs(value);
  if (size >= 1e6 || (size > 0 && size < 0.01)) return value.toPrecision(3);
  const digits = value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
  return digits.includes(".") ? digits.replace(/\.?0+$/, "") : digits;
};

page.seconds = value =>
  value < 599.5 ? `${page.three(value)} s` : value < 7200 ? `${page.three(value / 60)} min` : `${page.three(value / 3600)} h`;

page.bytes = value => {
  for (const [suffix, many] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]])
    if (value >= many) return `${page.three(value / many)} ${suffix}`;
  return `${page.three(value)} B`;
};

page.share = value => `${Math.floor(value * 1000) / 10} %`;

page.known = (value, spell, unknown = "?") => (value === null || value === undefined ? unknown : spell(value));

page.duration = value => {
  const whole = Math.round(value), minutes = Math.floor(whole / 60);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return whole % 60 ? `${minutes} min ${whole % 60} s` : `${minutes} min`;
  return minutes % 60 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${Math.floor(minutes / 60)} h`;
};

const two = number => String(number).padStart(2, "0");

// A simulated clock begins in 1970: of it only what has passed means anything.
page.isVirtual = utc => utc < 365 * 86400;

page.clock = (utc, isDated = false) => {
  if (page.isVirtual(utc)) {
    const whole = Math.round(utc);
    return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
  }
  const date = new Date(utc * 1000), time = [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()].map(two).join(":");
  return isDated ? `${date.getUTCFullYear()}-${two(date.getUTCMonth() + 1)}-${two(date.getUTCDate())} ${time}` : time;
};

const SVG = "http://www.w3.org/2000/svg";
const SHAPES = new Set(["svg", "path", "rect", "line", "circle", "text", "g", "title"]);

// page.make("td", {class: "why"}, "text", child): strings become text, whatever is in them.
page.make = (name, attributes = {}, ...children) => {
  const made = SHAPES.has(name) ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  made.append(...children.filter(child => child !== null && child !== undefined && child !== false));
  return made;
};

page.find = id => document.getElementById(id);

// Writes only what has changed, so that a reader's selection and a screen reader's place stay.
page.write = (id, text) => {
  const node = page.find(id);
  if (node.textContent !== text) node.textContent = text;
};
