/** The kinds of definitions. */
export type DefinitionKind = 'tool' | 'hook' | 'node' | 'plugin';

/** The symbol is global, so that the server recognizes definitions from another copy of this package. */
const KIND = Symbol.for('nightshift.definition');

/** Marks a value as made by `defineTool`, `defineHook`, `defineNode` or `definePlugin`. */
export interface Defined<Kind extends DefinitionKind> {
  readonly [KIND]: Kind;
}

/** A copy of the specification, marked with its kind. */
export function define<const Kind extends DefinitionKind, Spec extends object>(
  kind: Kind,
  spec: Spec,
): Spec & Defined<Kind> {
  return { ...spec, [KIND]: kind };
}

/** The kind of a definition; null: the value is not a definition of this package. */
export function kindOf(value: unknown): DefinitionKind | null {
  return typeof value === 'object' && value !== null && KIND in value ? (value[KIND] as DefinitionKind) : null; // only `define` sets it
}
