import { Field, ID, InputType } from '@nestjs/graphql';

@InputType({ description: 'The call to claim and the device that claims it.' })
export class ClaimClientToolInput {
  @Field(() => ID, { description: 'The job. The caller must have started it.' })
  jobId!: string;

  @Field(() => String, { description: 'The call id that the model and the request use.' })
  callId!: string;

  @Field(() => String, { description: 'The id of this device, 1 to 256 characters. Generate it once and keep it.' })
  deviceId!: string;
}

@InputType({ description: 'The call about to run and its claim.' })
export class ValidateClientToolInput {
  @Field(() => ID, { description: 'The job.' })
  jobId!: string;

  @Field(() => String, { description: 'The call.' })
  callId!: string;

  @Field(() => String, { description: 'The claim on it.' })
  claimToken!: string;
}

@InputType({ description: 'The outcome of a call: either `result` or `error`.' })
export class SubmitClientToolResultInput {
  @Field(() => ID, { description: 'The job.' })
  jobId!: string;

  @Field(() => String, { description: 'The call.' })
  callId!: string;

  @Field(() => String, { description: 'The claim on it.' })
  claimToken!: string;

  @Field(() => String, { nullable: true, description: 'The result of the tool: text or JSON, at most 262,144 bytes.' })
  result?: string | null;

  @Field(() => String, { nullable: true, description: 'Why it failed; the model reads the first 1,000 characters.' })
  error?: string | null;
}
