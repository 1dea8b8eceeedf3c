/// <reference lib="dom" />
/**
 * A drawing with the theme of the site, which nav.html sets on the page. The drawings follow the system's, as does the
 * page when it is opened as a file of the repository.
 */
export function themed(html: string): string {
  const { theme } = document.documentElement.dataset;
  if (theme === undefined) return html;
  return html.replaceAll("(prefers-color-scheme:dark)", theme === "dark" ? "(min-width:0)" : "(max-width:0)");
}
