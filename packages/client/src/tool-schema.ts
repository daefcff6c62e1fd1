/** A schema of the Standard Schema family that can convert itself to JSON Schema, such as one of zod 4.2 and newer (standardschema.dev). */
export interface StandardJsonSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    readonly jsonSchema: {
      readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>;
    };
  };
}

/** The schema of a tool's arguments: a JSON Schema, or a schema that can convert itself to one. */
export type ToolSchema = Readonly<Record<string, unknown>> | StandardJsonSchema;

/** The arguments that a schema describes. */
export type ArgumentsOf<Schema> = Schema extends StandardJsonSchema<infer Output> ? Output : FromJsonSchema<Schema>;

type Simplify<T> = { [Key in keyof T]: T[Key] };
type RequiredOf<Schema> = Schema extends { readonly required: readonly (infer Name)[] } ? Name : never;

interface Scalars {
  readonly string: string;
  readonly number: number;
  readonly integer: number;
  readonly boolean: boolean;
  readonly null: null;
}

type OfObject<Schema> = Schema extends { readonly properties: infer Properties }
  ? Simplify<
      {
        [Name in keyof Properties as Name extends RequiredOf<Schema> ? Name : never]: FromJsonSchema<Properties[Name]>;
      } & {
        [Name in keyof Properties as Name extends RequiredOf<Schema> ? never : Name]?: FromJsonSchema<Properties[Name]>;
      }
    >
  : Record<string, unknown>;

type OfType<Type, Schema> = Type extends keyof Scalars
  ? Scalars[Type]
  : Type extends 'array'
    ? Schema extends { readonly items: infer Items }
      ? FromJsonSchema<Items>[]
      : unknown[]
    : Type extends 'object'
      ? OfObject<Schema>
      : unknown;

/**
 * The type of values that match a literal JSON Schema (`as const`): `type` (also a list), `properties`, `required`, `items`, `enum`,
 * `const`, `anyOf` and `oneOf`. All other keywords give `unknown`.
 */
export type FromJsonSchema<Schema> = Schema extends { readonly const: infer Value }
  ? Value
  : Schema extends { readonly enum: readonly (infer Value)[] }
    ? Value
    : Schema extends { readonly anyOf: readonly (infer One)[] }
      ? FromJsonSchema<One>
      : Schema extends { readonly oneOf: readonly (infer One)[] }
        ? FromJsonSchema<One>
        : Schema extends { readonly type: readonly (infer Type)[] }
          ? OfType<Type, Schema>
          : Schema extends { readonly type: infer Type }
            ? string extends Type
              ? Record<string, unknown>
              : OfType<Type, Schema>
            : unknown;

/** The JSON Schema of a tool's arguments. */
export function toJsonSchema(schema: ToolSchema | undefined): Readonly<Record<string, unknown>> | undefined {
  if (schema === undefined || !isStandard(schema)) return schema;
  return schema['~standard'].jsonSchema.input({ target: 'draft-2020-12' });
}

function isStandard(schema: ToolSchema): schema is StandardJsonSchema {
  return '~standard' in schema;
}
