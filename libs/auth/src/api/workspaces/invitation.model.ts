import { Field, ID, InputType, ObjectType } from '@nestjs/graphql';

import { connectionOf, DateTime, UserError } from '#platform/api';

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

@ObjectType({
  description: 'The invitation after the change (before it, if revoked), or the reasons why nothing changed.',
})
export class InvitationPayload {
  @Field(() => InvitationModel, { nullable: true, description: 'The invitation.' })
  invitation?: InvitationModel | null;

  @Field(() => [UserError], { description: 'The reasons why nothing changed.' })
  userErrors!: UserError[];
}

@ObjectType({ description: 'The membership that was accepted, or the reasons why nothing changed.' })
export class AcceptInvitationPayload {
  @Field(() => ID, { nullable: true, description: 'The workspace that the person is now a member of.' })
  workspaceId?: string | null;

  @Field(() => Member, { nullable: true, description: 'The person as its member.' })
  member?: Member | null;

  @Field(() => [UserError], { description: 'The reasons why nothing changed.' })
  userErrors!: UserError[];
}

@ObjectType({ description: 'The workspace whose invitation was declined, or the reasons why nothing changed.' })
export class DeclineInvitationPayload {
  @Field(() => ID, { nullable: true, description: 'The workspace.' })
  workspaceId?: string | null;

  @Field(() => [UserError], { description: 'The reasons why nothing changed.' })
  userErrors!: UserError[];
}

/** A page of invitations. */
export const InvitationConnection = connectionOf(InvitationModel, 'Invitation');
/** A page of received invitations. */
export const ReceivedInvitationConnection = connectionOf(ReceivedInvitationModel, 'ReceivedInvitation');
