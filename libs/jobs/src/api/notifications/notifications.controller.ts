import { Controller, Get, HttpCode, Param, Post, Query, UseGuards } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';

import type { MemberPrincipal } from '#auth';
import { CurrentPrincipal, RequireAbility } from '#auth/api';
import { ApiRefusals, ApiReply } from '#platform/api';

import { NotificationInbox, type NotificationPage, type NotificationReply } from './notification-inbox.js';
import { type NotificationListQuery, notificationQuery } from './notification-list-query.js';
import { NotificationPrincipalGuard } from './notification-principal.guard.js';
import { notificationReplies } from './notification-schemas.js';

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
