import { Field, ID, InputType } from '@nestjs/graphql';

@InputType({ description: 'Which call to take on, for which device.' })
export class ClaimClientToolInput {
  @Field(() => ID, { description: 'The job; you have started it.' })
  jobId!: string;

  @Field(() => String, { description: 'The call, as the model and the request name it.' })
  callId!: string;

  @Field(() => String, { description: 'This device. 1 to 256 characters; made up once and kept.' })
  deviceId!: string;
}

@InputType({ description: 'Which call is about to be run, by which claim.' })
export class ValidateClientToolInput {
  @Field(() => ID, { description: 'The job.' })
  jobId!: string;

  @Field(() => String, { description: 'The call.' })
  callId!: string;

  @Field(() => String, { description: 'The claim on it.' })
  claimToken!: string;
}

@InputType({ description: 'What became of a call: either `result` or `error`.' })
export class SubmitClientToolResultInput {
  @Field(() => ID, { description: 'The job.' })
  jobId!: string;

  @Field(() => String, { description: 'The call.' })
  callId!: string;

  @Field(() => String, { description: 'The claim on it.' })
  claimToken!: string;

  @Field(() => String, { nullable: true, description: 'What the tool gave: text or JSON, at most 262,144 bytes.' })
  result?: string | null;

  @Field(() => String, { nullable: true, description: 'Why it failed; the model reads the first 1,000 characters.' })
  error?: string | null;
}
