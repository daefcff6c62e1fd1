import { Controller, Get, HttpCode, Injectable, Param, Post, Query, UseGuards } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';

import { Authenticator, type MemberPrincipal } from '#auth';
import { CurrentPrincipal, RequireAbility } from '#auth/api';
import { ApiRefusals, ApiReply, named } from '#platform/api';

import { notificationTypes } from '../../notifications/notification.js';
import { notificationNotFound } from '../../notifications/notifications.errors.js';
import { RowWorkspacesRepository } from '../../row-workspaces.repository.js';
import { RowPrincipalGuard } from '../row-principal.guard.js';
import { NotificationInbox, type NotificationPage, type NotificationReply } from './notification-inbox.js';
import { type NotificationListQuery, notificationQuery } from './notification-list-query.js';

/** Authenticates callers of routes that name one notification. */
@Injectable()
class NotificationPrincipalGuard extends RowPrincipalGuard {
  constructor(authenticator: Authenticator, reflector: Reflector, workspaces: RowWorkspacesRepository) {
    super(authenticator, reflector, { kind: 'notification', workspaces, absent: notificationNotFound });
  }
}

const notification: z.ZodType<NotificationReply> = named(
  'Notification',
  z.object({
    id: z.uuid(),
    type: z.enum(notificationTypes),
    jobId: z.uuid().nullable().meta({ description: 'Null if the notification is not about a job.' }),
    rootJobId: z.uuid().nullable(),
    threadId: z.string().nullable(),
    interruptId: z.uuid().exactOptional(),
    endpointId: z.uuid().exactOptional().meta({ description: 'The webhook endpoint that was disabled.' }),
    title: z.string(),
    at: z.number().meta({ description: 'Ms since the epoch.' }),
    read: z.boolean(),
  }),
);

const page: z.ZodType<NotificationPage> = z.object({
  notifications: z.array(notification),
  nextCursor: z
    .string()
    .nullable()
    .meta({ description: 'Pass it as `after` to get the next page. Null on the last page.' }),
});

/** The replies of the notification routes. */
const notificationReplies = { notification, page: named('NotificationPage', page) } as const;

/** The user notifications of the caller. */
@ApiTags('Notifications')
@Controller('api/notifications')
@UseGuards(NotificationPrincipalGuard)
export class NotificationsController {
  constructor(private readonly inbox: NotificationInbox) {}

  @Get()
  @ApiOperation({ operationId: 'listNotifications', summary: 'List notifications, newest first' })
  @ApiReply(200, notificationReplies.page, 'A page of them.')
  @ApiRefusals(400, 401)
  @RequireAbility('read', 'Notification')
  list(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Query({ schema: notificationQuery }) query: NotificationListQuery,
  ): Promise<NotificationPage> {
    return this.inbox.list(principal, query);
  }

  @Post(':id/read')
  @ApiOperation({ operationId: 'markNotificationRead', summary: 'Mark a notification as read (idempotent)' })
  @ApiReply(200, notificationReplies.notification, 'It is read.')
  @ApiRefusals(401, 404)
  @HttpCode(200)
  @RequireAbility('change', 'Notification')
  markRead(@CurrentPrincipal() principal: MemberPrincipal, @Param('id') id: string): Promise<NotificationReply> {
    return this.inbox.markRead(principal, id);
  }
}
