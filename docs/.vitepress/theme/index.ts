/** The default theme with the README's first example, the install commands and the sizes beside the headline, and the picture below it. */
import { h, onMounted, watch } from "vue";
import { onContentUpdated, useData } from "vitepress";
import DefaultTheme from "vitepress/theme";
import picture from "../../timelines/phone/keyed_mutex.svg";
import "./style.css";

/** The page's data has what config.ts reads from the README, and what scripts/docs.ts measures. */
const Example = () => {
  const { firstScreen, sizes } = useData().frontmatter.value;
  return h("div", { class: "first-screen" }, [h("div", { class: "vp-doc", innerHTML: firstScreen }), h("p", sizes)]);
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
