/** The tests ask every server for the same route; the packages are in the folder above. */
export default {
  rewrites: () => [{ source: "/wait/:ms", destination: "/api/wait/:ms" }],
  turbopack: { root: new URL("..", import.meta.url).pathname },
};
