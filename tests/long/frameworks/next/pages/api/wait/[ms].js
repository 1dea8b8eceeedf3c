/** The route that the tests ask for; a rewrite of next.config.js leads here. */
export default async function wait({ query }, response) {
  await new Promise((resolve) => setTimeout(resolve, Number(query.ms)));
  response.send(`waited ${query.ms} ms\n`);
}
