import { Args, Context, ID, Mutation, Query, Resolver } from '@nestjs/graphql';

import { notFound } from '#auth';
import { type GraphqlContext, RequireAbility } from '#auth/api';
import { Secret } from '#platform';
import {
  type ConnectionOf,
  ForwardPageArgs,
  listCost,
  orNull,
  pageCost,
  toForwardConnection,
  toForwardPage,
  toPayload,
} from '#platform/api';

import type { WebhookEndpoint } from '../outbound/webhook-endpoint.js';
import type { WebhookDelivery } from '../outbound/webhook-endpoints.repository.js';
import { type SavedEndpoint, WebhookEndpoints } from '../outbound/webhook-endpoints.service.js';
import {
  RedeliverDeadWebhooksInput,
  RedeliverWebhookInput,
  RedeliverWebhooksPayload,
  RotateWebhookSecretInput,
  SaveWebhookEndpointInput,
  SetWebhookEndpointEnabledInput,
  TestWebhookEndpointPayload,
  WebhookDeliveryConnection,
  WebhookDeliveryFilter,
  WebhookEndpointInput,
  WebhookEndpointModel,
  WebhookEndpointPayload,
} from './webhooks.model.js';

const kind = 'webhookDeliveries';

/** Shows and changes the webhook endpoints of a workspace, with the log of what was sent. */
@Resolver(() => WebhookEndpointModel)
export class WebhooksResolver {
  constructor(private readonly endpoints: WebhookEndpoints) {}

  @RequireAbility('manage', 'WebhookEndpoint')
  @Query(() => [WebhookEndpointModel], {
    description: 'The webhook endpoints of the workspace, oldest first, at most 50. Requires the role owner or admin.',
    complexity: listCost(50),
  })
  webhookEndpoints(@Context() { member }: GraphqlContext): Promise<readonly WebhookEndpoint[]> {
    return this.endpoints.list(member);
  }

  @RequireAbility('manage', 'WebhookEndpoint', { absent: () => notFound('WebhookEndpoint') })
  @Query(() => WebhookEndpointModel, { nullable: true, description: 'A webhook endpoint. Null: not found.' })
  webhookEndpoint(
    @Args('id', { type: () => ID, description: 'Its id.' }) id: string,
    @Context() { member }: GraphqlContext,
  ): Promise<WebhookEndpoint | null> {
    return orNull(this.endpoints.get(member, id));
  }

  @RequireAbility('manage', 'WebhookEndpoint')
  @Query(() => WebhookDeliveryConnection, {
    name: kind,
    description:
      'The deliveries of webhook endpoints and triggers in the last 30 days, newest first. Requires the role owner or admin.',
    complexity: pageCost,
  })
  async list(
    @Args('filter', { type: () => WebhookDeliveryFilter, nullable: true, description: 'Selects deliveries.' })
    filter: WebhookDeliveryFilter | null,
    @Args() args: ForwardPageArgs,
    @Context() { member }: GraphqlContext,
  ): Promise<ConnectionOf<WebhookDelivery>> {
    const page = await this.endpoints.deliveries(member, filter ?? {}, toForwardPage(args, kind));
    return toForwardConnection(page, args, { kind, idOf: ({ id }) => id });
  }

  @RequireAbility('manage', 'WebhookEndpoint')
  @Mutation(() => WebhookEndpointPayload, {
    description: 'Creates a webhook endpoint and returns its secret, or replaces the one with this `id`.',
  })
  saveWebhookEndpoint(
    @Args('input', { type: () => SaveWebhookEndpointInput, description: 'The endpoint.' })
    { id = null, secret, ...terms }: SaveWebhookEndpointInput,
    @Context() { member }: GraphqlContext,
  ) {
    const given = { ...terms, secret: toSecret(secret) };
    return toPayload(async () => shown(await this.endpoints.save(member, id, given)));
  }

  @RequireAbility('manage', 'WebhookEndpoint')
  @Mutation(() => WebhookEndpointPayload, {
    description:
      'Replaces the secret. Requests are signed with each of the last five secrets for 24 hours after it was replaced, so that receivers can replace theirs.',
  })
  rotateWebhookSecret(
    @Args('input', { type: () => RotateWebhookSecretInput, description: 'The endpoint.' })
    { id, secret }: RotateWebhookSecretInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => shown(await this.endpoints.rotate(member, id, toSecret(secret))));
  }

  @RequireAbility('manage', 'WebhookEndpoint')
  @Mutation(() => WebhookEndpointPayload, {
    description: 'Enables or disables an endpoint. Events that happen while it is disabled are never sent to it.',
  })
  setWebhookEndpointEnabled(
    @Args('input', { type: () => SetWebhookEndpointEnabledInput, description: 'The endpoint and its state.' })
    { id, enabled }: SetWebhookEndpointEnabledInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ endpoint: await this.endpoints.setEnabled(member, id, enabled) }));
  }

  @RequireAbility('manage', 'WebhookEndpoint')
  @Mutation(() => WebhookEndpointPayload, { description: 'Removes an endpoint and its deliveries.' })
  removeWebhookEndpoint(
    @Args('input', { type: () => WebhookEndpointInput, description: 'The endpoint.' }) { id }: WebhookEndpointInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ endpoint: await this.endpoints.remove(member, id) }));
  }

  @RequireAbility('manage', 'WebhookEndpoint')
  @Mutation(() => TestWebhookEndpointPayload, { description: 'Sends `endpoint.test` to an endpoint.' })
  testWebhookEndpoint(
    @Args('input', { type: () => WebhookEndpointInput, description: 'The endpoint.' }) { id }: WebhookEndpointInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ delivery: await this.endpoints.test(member, id) }));
  }

  @RequireAbility('manage', 'WebhookEndpoint')
  @Mutation(() => RedeliverWebhooksPayload, {
    description:
      'Sends one delivery again, with the same id and body, a new timestamp, and retries from the beginning.',
  })
  redeliverWebhook(
    @Args('input', { type: () => RedeliverWebhookInput, description: 'The delivery.' }) { id }: RedeliverWebhookInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => {
      await this.endpoints.redeliver(member, id);
      return { count: 1 };
    });
  }

  @RequireAbility('manage', 'WebhookEndpoint')
  @Mutation(() => RedeliverWebhooksPayload, { description: 'Sends dead letters again: the oldest 500 that match.' })
  redeliverDeadWebhooks(
    @Args('input', {
      type: () => RedeliverDeadWebhooksInput,
      description: 'A filter for the dead letters to send again.',
    })
    input: RedeliverDeadWebhooksInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ count: await this.endpoints.redeliverDead(member, input) }));
  }
}

function toSecret(text: string | null | undefined): Secret | null {
  return text == null ? null : new Secret(text);
}

function shown({ endpoint, secret }: SavedEndpoint) {
  return { endpoint, secret: secret?.reveal() ?? null };
}
