import type { Type } from '@nestjs/common';
import { Field, ObjectType, type ReturnTypeFuncValue } from '@nestjs/graphql';

import { UserError } from './user-error.model.js';

/** The definition of a mutation's payload. */
interface Payload {
  readonly name: string;
  readonly description: string;
  /** The type and description of each field that the mutation changed. A field is null after an error. */
  readonly fields: Readonly<Record<string, readonly [type: ReturnTypeFuncValue, description: string]>>;
  /** The description of `userErrors`. */
  readonly errors?: string;
}

/** Makes the type of a payload: its fields, and `userErrors`. */
export function payloadOf({ name, description, fields, errors }: Payload): Type<object> {
  @ObjectType(name, { description })
  class ChangePayload {
    @Field(() => [UserError], { description: errors ?? 'The reasons why nothing changed.' })
    userErrors!: UserError[];
  }
  for (const [field, [type, text]] of Object.entries(fields))
    Field(() => type, { nullable: true, description: text })(ChangePayload.prototype, field);
  return ChangePayload;
}
