/**
 * A plugin of TypeDoc. The errors of a member are one list, each with its type: the theme would give each error a heading
 * of its own, without the type. A class or function shows its timeline from the guide.
 */
import { readFileSync } from "node:fs";
import { type Application, type CommentTag, Converter, type Reflection, ReflectionKind } from "typedoc";

export function load({ converter }: Application): void {
  converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const reflection of Object.values(project.reflections)) {
      listErrors(reflection);
      showTimeline(reflection);
    }
  });
}

function listErrors({ comment }: Reflection): void {
  const errors = comment?.blockTags.filter(({ tag }) => tag === "@throws") ?? [];
  const [first] = errors;
  if (comment === undefined || first === undefined) return;
  first.content = errors.flatMap(itemOf);
  comment.blockTags = comment.blockTags.filter((tag) => tag === first || !errors.includes(tag));
}

/** The type `unknown` stands for the reason of a signal, which the text names. */
function itemOf({ typeAnnotation = "", content }: CommentTag): CommentTag["content"] {
  const type = typeAnnotation === "{unknown}" ? "" : typeAnnotation.replace(/^\{(.*)\}$/, "`$1` ");
  return [{ kind: "text", text: `\n- ${type}` }, ...content, { kind: "text", text: "\n" }];
}

/** The timelines of the guide by the name in front of them: the heading of their section. */
const timelines = new Map(
  ["primitives", "pool-and-rate-limits"].flatMap((page) => {
    const sections = readFileSync(new URL(`../${page}.md`, import.meta.url), "utf8").split(/^## /m);
    return sections.map((section) => [/^\w*/.exec(section)![0], /^!\[.*\]\(timelines.*$/m.exec(section)?.[0]] as const);
  }),
);

function showTimeline(reflection: Reflection): void {
  if (!reflection.kindOf(ReflectionKind.Class | ReflectionKind.CallSignature)) return;
  const timeline = timelines.get(reflection.name)?.replace("(timelines/", "(../../../timelines/");
  if (timeline !== undefined) reflection.comment?.summary.push({ kind: "text", text: `\n\n${timeline}` });
}
