import { Field, Int, ObjectType } from '@nestjs/graphql';

/** Token counts of the provider, or estimates. */
@ObjectType({ description: 'Tokens as counted by the provider, or estimated if it does not count them.' })
export class Usage {
  @Field(() => Int, { description: 'Tokens of the prompts.' })
  promptTokens!: number;

  @Field(() => Int, { description: 'Tokens of the responses.' })
  completionTokens!: number;

  @Field(() => Int, { description: 'The sum of both.' })
  totalTokens!: number;
}
