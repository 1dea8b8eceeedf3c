/**
 * A plugin of TypeDoc: the errors of a member are one list, each with its type. The theme would give each error a heading
 * of its own, without the type.
 */
import { type Application, type CommentTag, Converter, type Reflection } from "typedoc";

export function load({ converter }: Application): void {
  converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const reflection of Object.values(project.reflections)) listErrors(reflection);
  });
}

function listErrors({ comment }: Reflection): void {
  const errors = comment?.blockTags.filter(({ tag }) => tag === "@throws") ?? [];
  const [first] = errors;
  if (comment === undefined || first === undefined) return;
  first.content = errors.flatMap(itemOf);
  comment.blockTags = comment.blockTags.filter((tag) => tag === first || !errors.includes(tag));
}

function itemOf({ typeAnnotation = "", content }: CommentTag): CommentTag["content"] {
  const type = typeAnnotation.replace(/^\{(.*)\}$/, "`$1` ");
  return [{ kind: "text", text: `\n- ${type}` }, ...content, { kind: "text", text: "\n" }];
}
