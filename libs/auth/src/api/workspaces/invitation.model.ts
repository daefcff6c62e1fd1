import { Field, ID, InputType, ObjectType } from '@nestjs/graphql';

import { connectionOf, DateTime, payloadOf } from '#platform/api';

import { Member, MemberRoleEnum } from './workspace.model.js';

@ObjectType('Invitation', {
  description: 'An offer of membership. It gives no right until the invited person accepts it.',
})
export class InvitationModel {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => String, { description: 'The invited address, in lower case.' })
  email!: string;

  @Field(() => MemberRoleEnum, { description: 'The role that accepting gives.' })
  role!: string;

  @Field(() => ID, { description: 'The user who invited; the invitation ends when they leave the workspace.' })
  invitedBy!: string;

  @Field(() => DateTime, { description: 'When it was created.' })
  createdAt!: number;

  @Field(() => DateTime, { description: 'When it expires.' })
  expiresAt!: number;
}

@ObjectType('ReceivedInvitation', { description: 'An invitation as the invited person sees it.' })
export class ReceivedInvitationModel {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => ID, { description: 'The workspace.' })
  workspaceId!: string;

  @Field(() => String, { description: 'The name of the workspace.' })
  workspaceName!: string;

  @Field(() => MemberRoleEnum, { description: 'The role that accepting gives.' })
  role!: string;

  @Field(() => String, { description: 'The address of the member who invited.' })
  invitedBy!: string;

  @Field(() => DateTime, { description: 'When it was created.' })
  createdAt!: number;

  @Field(() => DateTime, { description: 'When it expires.' })
  expiresAt!: number;
}

@InputType({ description: 'The invitation to act on.' })
export class InvitationInput {
  @Field(() => ID, { description: 'The invitation.' })
  id!: string;
}

export const InvitationPayload = payloadOf({
  name: 'InvitationPayload',
  description: 'The invitation after the change (before it, if revoked), or the reasons why nothing changed.',
  fields: { invitation: [InvitationModel, 'The invitation.'] },
});

export const AcceptInvitationPayload = payloadOf({
  name: 'AcceptInvitationPayload',
  description: 'The membership that was accepted, or the reasons why nothing changed.',
  fields: {
    workspaceId: [ID, 'The workspace that the person is now a member of.'],
    member: [Member, 'The person as its member.'],
  },
});

export const DeclineInvitationPayload = payloadOf({
  name: 'DeclineInvitationPayload',
  description: 'The workspace whose invitation was declined, or the reasons why nothing changed.',
  fields: { workspaceId: [ID, 'The workspace.'] },
});

/** A page of invitations. */
export const InvitationConnection = connectionOf(InvitationModel, 'Invitation');
/** A page of received invitations. */
export const ReceivedInvitationConnection = connectionOf(ReceivedInvitationModel, 'ReceivedInvitation');
