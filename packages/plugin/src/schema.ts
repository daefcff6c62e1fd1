/** A JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** A JSON Schema (2020-12, or draft-07 when its `$schema` names that) of an object. */
export type JsonSchema = JsonObject;

/** A schema of the Standard Schema family, such as one of zod 4 (standardschema.dev). */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

/** The schema of the input of a tool or node: a zod 4 object, or a JSON Schema. */
export type InputSchema = StandardSchema | JsonSchema;

/** The type of the input that the code gets: for a zod schema the parsed value, with defaults and transforms applied. */
export type InputOf<Schema> = Schema extends StandardSchema<infer Output> ? Output : JsonObject;
