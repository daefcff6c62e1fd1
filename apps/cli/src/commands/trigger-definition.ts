/** What the commands read of a definition. */
export interface ReadDefinition {
  readonly database: string;
  readonly triggerId: string;
  readonly source: string;
  readonly collection: string | null;
  readonly events: readonly string[];
  readonly url: string | null;
  readonly start: { readonly workflow: string | null } | null;
}

/** The server fills in all fields. */
export function asRead(definition: unknown): ReadDefinition {
  return definition as ReadDefinition; // the type of `Trigger.definition` is JSON, and docs/triggers.md lists the fields
}
