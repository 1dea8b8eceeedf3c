/** The default theme with the README's first example, the install commands and the sizes beside the headline, and the picture below it. */
import { h, onMounted, watch } from "vue";
import { onContentUpdated, useData } from "vitepress";
import DefaultTheme from "vitepress/theme";
import picture from "../../timelines/keyed_mutex.svg";
import "./style.css";

/** What config.ts reads from the README and scripts/docs.ts measures. */
interface FirstScreen {
  readonly code: string;
  readonly installs: string;
  readonly sizes: string;
}

const TOKENS = /(\/\/.*)|("[^"]*"|`[^`]*`)|\b(import|from|const|using|async|await|new|return)\b/g;

/** Comments, strings and keywords as spans; nothing else is needed for ten lines. */
function highlighted(code: string) {
  const parts: (string | ReturnType<typeof h>)[] = [];
  let end = 0;
  for (const match of code.matchAll(TOKENS)) {
    parts.push(code.slice(end, match.index));
    const kind = match[1] ? "comment" : match[2] ? "string" : "keyword";
    parts.push(h("span", { class: kind }, match[0]));
    end = match.index + match[0].length;
  }
  return [...parts, code.slice(end)];
}

const Example = () => {
  const { code, installs, sizes } = useData().theme.value.firstScreen as FirstScreen;
  return h("div", { class: "first-screen" }, [
    h("pre", h("code", highlighted(code))),
    h("pre", h("code", installs)),
    h("p", sizes),
  ]);
};

const Picture = () => h("img", { class: "turns", src: picture, alt: "Ann's orders take turns; Bob's does not wait" });

/** Screenshots have the theme of the page, which may differ from that of the system. */
function matchScreenshots(isDark: boolean) {
  for (const source of document.querySelectorAll<HTMLSourceElement>(".vp-doc source")) {
    source.media = source.media.replace(/\((prefers-color-scheme: dark|m\w\w-width: 0px)\)/, isDark ? "(min-width: 0px)" : "(max-width: 0px)");
  }
}

const Layout = {
  setup() {
    const { isDark } = useData();
    const match = () => matchScreenshots(isDark.value);
    onMounted(match);
    onContentUpdated(match);
    watch(isDark, match);
    return () => h(DefaultTheme.Layout, null, { "home-hero-image": () => h(Example), "home-hero-actions-after": () => h(Picture) });
  },
};

export default { extends: DefaultTheme, Layout };
