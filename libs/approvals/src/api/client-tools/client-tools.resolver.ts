import { Args, Context, Mutation, Resolver } from '@nestjs/graphql';

import { forbidden } from '#auth';
import { type GraphqlContext, RequireAbility } from '#auth/api';
import { AppError } from '#platform';
import { accept, toPayload } from '#platform/api';

import { ClientToolsService } from '../../client-tools/client-tools.service.js';
import { claimBody, claimReference, resultBody } from './client-tool-schemas.js';
import { ClientToolSwitch } from './client-tool-switch.js';
import { ClaimClientToolInput, SubmitClientToolResultInput, ValidateClientToolInput } from './client-tools.input.js';
import {
  ClaimClientToolPayload,
  SubmitClientToolResultPayload,
  ValidateClientToolPayload,
} from './client-tools.model.js';

/** Calls that the clients of a job's requester run. */
@Resolver()
export class ClientToolsResolver {
  constructor(
    private readonly service: ClientToolsService,
    private readonly theSwitch: ClientToolSwitch,
  ) {}

  @RequireAbility('change', 'Job', { refused: forbidden })
  @Mutation(() => ClaimClientToolPayload, {
    description:
      'Claims a call for 30 s. If several clients claim the same call, only one succeeds. Validate the claim before running the tool.',
  })
  claimClientTool(
    @Args('input', { type: () => ClaimClientToolInput, description: 'The call.' }) input: ClaimClientToolInput,
    @Context() { member }: GraphqlContext,
  ) {
    return this.answer(async () => {
      const { call, context, ...claim } = await this.service.claim(member, input.jobId, accept(claimBody, input));
      const { id: callId, ...shown } = call;
      return { claim: { ...claim, ...shown, ...context, callId } };
    });
  }

  @RequireAbility('change', 'Job', { refused: forbidden })
  @Mutation(() => ValidateClientToolPayload, {
    description:
      "Call it right before running the tool. It checks that the claim is still valid, that the arguments are unchanged, and that the approval policy and the rights of the requester allow the call. If so, the call counts as started, and its claim lasts for the tool's timeout plus 30 s. Otherwise do not run the tool.",
  })
  validateClientTool(
    @Args('input', { type: () => ValidateClientToolInput, description: 'The claim.' }) input: ValidateClientToolInput,
    @Context() { member }: GraphqlContext,
  ) {
    return this.answer(() => this.service.validate(member, input.jobId, accept(claimReference, input)));
  }

  @RequireAbility('change', 'Job', { refused: forbidden })
  @Mutation(() => SubmitClientToolResultPayload, {
    description: 'Submits the result of a call, once. Repeating the same submission is accepted.',
  })
  submitClientToolResult(
    @Args('input', { type: () => SubmitClientToolResultInput, description: 'The result.' })
    input: SubmitClientToolResultInput,
    @Context() { member }: GraphqlContext,
  ) {
    return this.answer(() => {
      const { callId, claimToken, result = null, error = null } = accept(resultBody, input);
      return this.service.submit(member, input.jobId, { callId, claimToken, result, error });
    });
  }

  /** A conflict contains the status of the call. */
  private async answer<T extends object>(ask: () => Promise<T>) {
    let callStatus: unknown = null;
    const payload = await toPayload(async () => {
      try {
        this.theSwitch.assertOn();
        return await ask();
      } catch (error) {
        if (error instanceof AppError) callStatus = error.details['callStatus'] ?? null;
        throw error;
      }
    });
    return { ...payload, callStatus };
  }
}
