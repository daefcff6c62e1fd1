import { Field, ID, InputType, ObjectType } from '@nestjs/graphql';

import { UserError } from '../graphql/user-error.model.js';
import { ThreadModel } from './thread.model.js';

@InputType({ description: 'A thread to begin before anything is said in it.' })
export class CreateThreadInput {
  @Field(() => String, { nullable: true, description: 'Its name, at most 200 characters.' })
  title?: string | null;

  @Field(() => String, {
    nullable: true,
    description: "The client's own id for it, 1 to 255 characters; the same id again gives the same thread.",
  })
  clientId?: string | null;
}

@InputType({ description: 'A new name for a thread.' })
export class RenameThreadInput {
  @Field(() => ID, { description: "The thread: our id, or the client's own." })
  threadId!: string;

  @Field(() => String, { description: 'Its name, at most 200 characters.' })
  title!: string;
}

@ObjectType({ description: 'The thread as it is now, or why nothing changed.' })
export class ThreadPayload {
  @Field(() => ThreadModel, { nullable: true, description: 'The thread.' })
  thread?: ThreadModel | null;

  @Field(() => [UserError], { description: 'Why nothing changed.' })
  userErrors!: UserError[];
}
