import { Controller, Get, Param, UseGuards } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';

import type { MemberPrincipal } from '#auth';
import { CurrentPrincipal, RequireAbility } from '#auth/api';
import { ApiOpenAiRefusals, ApiReply } from '#platform/api';

import { OpenAiPrincipalGuard } from '../openai-principal.guard.js';
import { openAiReplies } from '../openai-schemas.js';
import { type ListedModel, ModelDirectory } from './model-directory.js';

/** A model in the shape of OpenAI's API, with a name and a description. */
interface OpenAiModel {
  readonly id: string;
  readonly object: 'model';
  /** Seconds since the epoch. */
  readonly created: number;
  readonly owned_by: 'nightshift';
  readonly name: string;
  readonly description: string;
}

/** Lists the models of `/v1`. */
@ApiTags('OpenAI')
@Controller('v1/models')
@UseGuards(OpenAiPrincipalGuard)
export class ModelsController {
  constructor(private readonly models: ModelDirectory) {}

  @Get()
  @ApiOperation({ operationId: 'listModels', summary: 'List models' })
  @ApiReply(200, openAiReplies.models, '`auto`, agents, workflows, and models of the provider that the key may use.')
  @ApiOpenAiRefusals(401, 429)
  @RequireAbility('read', 'Agent')
  async list(
    @CurrentPrincipal() principal: MemberPrincipal,
  ): Promise<{ readonly object: 'list'; readonly data: readonly OpenAiModel[] }> {
    return { object: 'list', data: (await this.models.list(principal)).map(toOpenAiModel) };
  }

  /** Ids of workflows have a slash, and clients do not always encode it. */
  @Get('*id')
  @ApiOperation({ operationId: 'getModel', summary: 'Get a model' })
  @ApiParam({ name: 'id', type: String })
  @ApiReply(200, openAiReplies.model, 'The model.')
  @ApiOpenAiRefusals(401, 404, 429)
  @RequireAbility('read', 'Agent')
  async find(@CurrentPrincipal() principal: MemberPrincipal, @Param('id') id: string | string[]): Promise<OpenAiModel> {
    return toOpenAiModel(await this.models.find(principal, Array.isArray(id) ? id.join('/') : id));
  }
}

function toOpenAiModel({ id, name, description, createdAt }: ListedModel): OpenAiModel {
  const created = Math.floor(createdAt / 1_000);
  return { id, object: 'model', created, owned_by: 'nightshift', name, description };
}
