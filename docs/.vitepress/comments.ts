/**
 * A plugin of TypeDoc. The errors of a member are one list, each with its type: the theme would give each error a
 * heading of its own, without the type. An error of the library leads to its page, and so does code that is a public
 * name. A class or function shows its timeline from the guide.
 */
import { readFileSync } from "node:fs";
import {
  type Application,
  type Comment,
  type CommentDisplayPart,
  type CommentTag,
  Converter,
  type DeclarationReflection,
  type ProjectReflection,
  type Reflection,
  ReflectionKind,
} from "typedoc";

const LAST = -1000; // after TypeDoc has resolved the links of the comments, which would lose these

export function load({ converter }: Application): void {
  converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const reflection of Object.values(project.reflections)) showTimeline(reflection);
  });
  converter.on(Converter.EVENT_RESOLVE_END, ({ project }) => {
    const pages = pagesOf(project);
    for (const { name, parent, comment } of Object.values(project.reflections)) {
      if (comment === undefined) continue;
      const own = new Set([name, parent?.name, parent?.parent?.name]);
      const link = (part: CommentDisplayPart) => linked(part, pages, own);
      comment.summary = comment.summary.map(link);
      for (const tag of comment.blockTags) if (!tag.tag.startsWith("@example")) tag.content = tag.content.map(link);
      listErrors(comment, pages);
    }
  }, LAST);
}

/** The public names that have a page. */
type Pages = ReadonlyMap<string, DeclarationReflection>;

function pagesOf(project: ProjectReflection): Pages {
  const kinds = ReflectionKind.ClassOrInterface | ReflectionKind.Function | ReflectionKind.TypeAlias;
  return new Map(project.getReflectionsByKind(kinds).map((one) => [one.name, one as DeclarationReflection]));
}

/** Code that is a public name, other than the name whose page this is, becomes a link. */
function linked(part: CommentDisplayPart, pages: Pages, own: ReadonlySet<string | undefined>): CommentDisplayPart {
  const name = part.kind === "code" ? part.text.slice(1, -1) : "";
  const target = own.has(name) ? undefined : pages.get(name);
  return target === undefined ? part : { kind: "inline-tag", tag: "@linkcode", text: name, target };
}

function listErrors(comment: Comment, pages: Pages): void {
  const errors = comment.blockTags.filter(({ tag }) => tag === "@throws");
  const [first] = errors;
  if (first === undefined) return;
  first.content = errors.flatMap((error) => itemOf(error, pages));
  comment.blockTags = comment.blockTags.filter((tag) => tag === first || !errors.includes(tag));
}

/** Errors of the platform have no page. */
function itemOf({ typeAnnotation = "", content }: CommentTag, pages: Pages): CommentTag["content"] {
  const types = typeAnnotation.replace(/^\{(.*)\}$/, "$1").split(" | ").filter(Boolean);
  const names = types.flatMap((type, i): CommentDisplayPart[] => [
    { kind: "text", text: i === 0 ? "" : " or " },
    linked({ kind: "code", text: `\`${type}\`` }, pages, new Set()),
  ]);
  const space = types.length === 0 ? "" : " ";
  return [{ kind: "text", text: "\n- " }, ...names, { kind: "text", text: space }, ...content];
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
