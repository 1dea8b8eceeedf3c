/**
 * The page's style: light and dark, from the width of a phone up.
 *
 * @module
 */
export const STYLE = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#fff, #1b1b1f); --card: light-dark(#f6f6f7, #202127); --ink: light-dark(#3c3c43, #dfdfd6);
  --soft: light-dark(#67676c, #98989f); --line: light-dark(#e2e2e3, #3c3f44); --accent: light-dark(#2563c9, #6fa2ff);
  --wait: light-dark(#9a5b00, #f0b45a); --bad: light-dark(#b3261e, #ff8a80); --bad-ground: light-dark(#fdf1f0, #2c1f22);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; color: var(--ink); background: var(--ground);
}
* { box-sizing: border-box; } p { margin: 0; }
body { max-width: 64rem; margin: 0 auto; padding: 1.25rem 1rem 3rem; }
h1 { margin: 0; font-size: 1.25rem; letter-spacing: -0.01em; }
h2 { margin: 0 0 .5rem; font-size: 1.05rem; overflow-wrap: anywhere; }
h3 { margin: 0 0 .25rem; font-size: .8rem; font-weight: 600; color: var(--soft); }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: .25rem 1.25rem; margin-bottom: 1rem; }
#numbers { color: var(--soft); font-variant-numeric: tabular-nums; }
#numbers span + span::before { content: " · "; }
.controls { margin-left: auto; display: flex; align-items: center; gap: .75rem; }
#state { color: var(--soft); font-size: .85rem; }
#state::before { content: ""; display: inline-block; width: .5rem; height: .5rem; margin-right: .4rem; border-radius: 50%;
  background: var(--line); }
#state.live::before { background: #1a9b6c; }
#state.reconnecting::before { background: var(--bad); }
button { font: inherit; color: inherit; cursor: pointer; }
#pause { min-height: 2.25rem; padding: 0 .9rem; border: 1px solid var(--line); border-radius: 8px; background: var(--card); }
#pause[aria-pressed="true"] { border-color: var(--accent); color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
#announcement { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.alert { margin-bottom: 1rem; padding: .9rem 1.1rem; border: 1px solid var(--bad); border-radius: 10px;
  background: var(--bad-ground); overflow-wrap: anywhere; }
.alert h2 { margin: 0 0 .15rem; color: var(--bad); }
.alert ol { margin: .25rem 0 0; padding-left: 1.25rem; }
table, #detail { width: 100%; background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
table { border-collapse: separate; border-spacing: 0; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: 0 0 .4rem; font-size: .8rem; font-weight: 600; color: var(--soft); }
th, td { padding: 0 .75rem; height: 2.6rem; text-align: right; font-weight: 400; border-top: 1px solid var(--line);
  white-space: nowrap; }
thead th { border: 0; height: 2.2rem; font-size: .8rem; color: var(--soft); white-space: normal; line-height: 1.2; }
th:first-child { text-align: left; white-space: normal; overflow-wrap: anywhere; width: 40%; }
th button { padding: .5rem 0; width: 100%; border: 0; background: none; text-align: left; line-height: 1.25; }
tbody tr { cursor: pointer; }
tbody tr:hover th button { color: var(--accent); }
tr.selected th { box-shadow: inset 3px 0 var(--accent); }
tr.selected button { font-weight: 600; }
td .slow { color: var(--wait); font-weight: 600; }
td .bad { color: var(--bad); font-weight: 600; }
.none { color: var(--soft); text-align: left; font-weight: 400; white-space: normal; }
#detail { margin-top: 1rem; padding: 1rem 0; min-height: 12rem; }
#detail:empty { visibility: hidden; }
#detail > * { margin-left: 1rem; margin-right: 1rem; }
#detail > .timeline { display: grid; margin: 0 .5rem; overflow: hidden; }
small, .note { color: var(--soft); font-size: .8rem; }
.calls { display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); gap: 1rem 2rem; margin-top: 1rem; }
.calls ul { list-style: none; margin: 0; padding: 0; }
.calls li { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem; padding: .2rem 0;
  border-top: 1px solid var(--line); font-variant-numeric: tabular-nums; }
code { font: .85rem ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.histogram { display: block; width: 100%; max-width: 24rem; fill: var(--accent); }
.histogram path { stroke: var(--line); }
.histogram text { fill: var(--soft); font-size: 10.5px; text-anchor: middle; }
footer { margin-top: 1.5rem; color: var(--soft); font-size: .8rem; max-width: 46rem; }
@media (max-width: 46rem) {
  .wide { display: none; }
  th, td { padding: 0 .5rem; }
  .controls { margin-left: 0; width: 100%; justify-content: space-between; }
}
`;
