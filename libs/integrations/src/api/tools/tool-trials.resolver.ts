import { Args, Context, Mutation, Resolver } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility } from '#auth/api';
import { AppError } from '#platform';
import { toPayload } from '#platform/api';

import { HttpToolTrials, type TriedTool } from '../../http/http-tool-trial.service.js';
import { TestToolInput, TestToolPayload } from './workspace-tool.model.js';

/** Test calls of a workspace's HTTP tools. */
@Resolver()
export class ToolTrialsResolver {
  constructor(private readonly trials: HttpToolTrials) {}

  @RequireAbility('manage', 'WorkspaceTool')
  @Mutation(() => TestToolPayload, {
    description: 'Calls an HTTP tool once and returns the result. It is a real call with real effects.',
  })
  testTool(
    @Args('input', { type: () => TestToolInput, description: 'The tool and its arguments.' }) input: TestToolInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ trial: await this.trials.run(member, toTriedTool(input), input.arguments) }));
  }
}

/** The tool to test: a stored one or a definition. Throws `bad_request` for neither and for both. */
function toTriedTool({ id, definition }: Pick<TestToolInput, 'id' | 'definition'>): TriedTool {
  if (id == null && definition == null) throw testInputInvalid('id', 'Give the id of a tool, or a definition');
  if (id != null && definition != null) throw testInputInvalid('definition', 'Give an id or a definition, not both');
  return id == null ? { definition } : { id };
}

/** The input names no tool to test, or two. */
function testInputInvalid(field: 'id' | 'definition', message: string): AppError {
  return new AppError({ code: 'bad_request', message, field });
}
