/** The route that the tests ask for. */
export async function GET({ params }) {
  await new Promise((resolve) => setTimeout(resolve, Number(params.ms)));
  return new Response(`waited ${params.ms} ms\n`);
}
