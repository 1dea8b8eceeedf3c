/** Throws if one of these rules does not hold. */
export function assertRules(of: string, rules: Readonly<Record<string, boolean>>): void {
  const broken = Object.keys(rules).find((rule) => !rules[rule]);
  if (broken !== undefined) throw new Error(`unsound ${of}: ${broken}`);
}
