/** What a definition defines. */
export type DefinitionKind = 'tool' | 'hook' | 'node' | 'plugin';

/** Registered for the process, so that the server recognizes definitions that another copy of this package has made. */
const KIND = Symbol.for('nightshift.definition');

/** Marks a value as made by `defineTool`, `defineHook`, `defineNode` or `definePlugin`. */
export interface Defined<Kind extends DefinitionKind> {
  readonly [KIND]: Kind;
}

/** A copy of the specification that says what it defines. */
export function define<const Kind extends DefinitionKind, Spec extends object>(
  kind: Kind,
  spec: Spec,
): Spec & Defined<Kind> {
  return { ...spec, [KIND]: kind };
}

/** What a value defines; null: it was not made by this package. */
export function kindOf(value: unknown): DefinitionKind | null {
  return typeof value === 'object' && value !== null && KIND in value ? (value[KIND] as DefinitionKind) : null; // set by `define` alone
}
