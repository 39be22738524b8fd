import { MAX_CHANGE_DELAY_MIN } from '../../src/domain/change-delay.ts';
import type { GuardedChange, MerchantChangeScheduled, MerchantEvent } from '../../src/domain/events/merchant-events.ts';
import { accept, refuse, type Decision } from '../../src/domain/values/result.ts';
import type { Waiting } from './endpoints.decider.ts';
import type { MerchantCommand, PolicyBounds } from './merchant.commands.ts';
import { endpointIn, type MerchantContext, merchantIdOf } from './merchant.state.ts';
import { must } from '../../src/domain/values/must.ts';
import { NOTIFICATION_FIELDS, NOTIFICATION_TYPES } from '../../src/domain/notifications/types.ts';

/*
 * Changes that a thief with a key would make first. They can be delayed, so that somebody notices before they take
 * effect.
 */

type Of<Type extends MerchantCommand['type']> = Extract<MerchantCommand, { type: Type }>;

const MAX_PENDING = 20;

const subjectOf = (context: MerchantContext) => ({ merchantId: merchantIdOf(context) });

/** Delay of the merchant's changes. */
export function changeDelayMin(
  { changeDelayMin: own, registered }: MerchantContext,
  installationMinutes: number,
): number {
  return own ?? (registered?.mode === 'live' ? installationMinutes : 0);
}

/** Replaces a decision by its postponement: the change is recorded, and takes effect later. */
export function waiting(
  wait: Waiting,
  command: MerchantCommand,
  decision: Decision<MerchantEvent>,
  context: MerchantContext,
): Decision<MerchantEvent> {
  const [event] = decision.ok ? decision.events : [];
  const minutes = changeDelayMin(context, wait.installationMinutes);
  if (!event || minutes === 0 || !isGuarded(event, context, wait)) return decision;
  const change = changeOf(command, context);
  const pending = Object.values(context.pendingChanges);
  if (pending.some((known) => JSON.stringify(known.change) === JSON.stringify(change))) return accept();
  if (pending.length >= MAX_PENDING)
    return refuse('invalid_request', `at most ${MAX_PENDING} changes can be pending; withdraw one first`);
  const { changeId, nowSec, requestedBy } = wait;
  const times = { requestedAtSec: nowSec, takesEffectAtSec: nowSec + minutes * 60 };
  const scheduled: MerchantChangeScheduled = {
    type: 'MerchantChangeScheduled',
    data: { ...subjectOf(context), changeId, change, requestedBy, ...times },
  };
  // An additional endpoint exists at once, with its secret, but receives nothing before its time.
  if (event.type === 'WebhookEndpointSet' && command.type === 'AddEndpoint')
    return accept<MerchantEvent>({ ...event, data: { ...event.data, disabled: true } }, scheduled);
  return accept(scheduled);
}

/** Whether the event changes a guarded setting. */
function isGuarded(event: MerchantEvent, context: MerchantContext, wait: Waiting): boolean {
  switch (event.type) {
    case 'WebhookEndpointSet': {
      const { endpointId, url, disabled } = event.data;
      const before = endpointIn(context, endpointId);
      // If nothing was sent there so far, no delivery can be diverted.
      return before === null || (before.url !== null && (before.url !== url || before.disabled !== disabled));
    }
    case 'ChangeDelaySet':
      return (
        changeDelayMin({ ...context, changeDelayMin: event.data.minutes }, wait.installationMinutes) <
        changeDelayMin(context, wait.installationMinutes)
      );
    case 'PolicySet':
    case 'SettlementAddressSet':
      return true;
    default:
      return false;
  }
}

function changeOf(command: MerchantCommand, context: MerchantContext): GuardedChange {
  switch (command.type) {
    case 'AddEndpoint':
      return { kind: 'webhook_endpoint', endpointId: command.endpointId, set: { disabled: false } };
    case 'SetWebhook': {
      const { type: _type, wait: _wait, events, fields, ...set } = command;
      const { endpointId = must(context.endpoint).endpointId, ...chosen } = set;
      const listed = {
        ...(events && { events: NOTIFICATION_TYPES.filter((type) => events.includes(type)) }),
        ...(fields && { fields: NOTIFICATION_FIELDS.filter((field) => fields.includes(field)) }),
      };
      return { kind: 'webhook_endpoint', endpointId, set: { ...chosen, ...listed } };
    }
    case 'SetPolicy':
      return { kind: 'policy', policy: command.policy };
    case 'SetSettlementAddress':
      return {
        kind: 'settlement_address',
        network: command.network,
        address: command.address,
        approvers: command.approvers,
      };
    case 'SetChangeDelay':
      return { kind: 'change_delay', minutes: command.minutes };
    default:
      throw new Error(`${command.type} is never delayed`);
  }
}

export function decideChangeDelay(
  { minutes }: Of<'SetChangeDelay'>,
  context: MerchantContext,
): Decision<MerchantEvent> {
  if (minutes !== null && !(Number.isSafeInteger(minutes) && minutes >= 0 && minutes <= MAX_CHANGE_DELAY_MIN))
    return refuse('invalid_request', `minutes must be a whole number from 0 to ${MAX_CHANGE_DELAY_MIN}`, 'minutes');
  return minutes === context.changeDelayMin
    ? accept()
    : accept({ type: 'ChangeDelaySet', data: { ...subjectOf(context), minutes } });
}

export function withdrawChange({ changeId }: Of<'WithdrawChange'>, context: MerchantContext): Decision<MerchantEvent> {
  if (!Object.hasOwn(context.pendingChanges, changeId))
    return refuse('not_found', 'no such pending change', 'change_id');
  return accept({ type: 'MerchantChangeWithdrawn', data: { ...subjectOf(context), changeId } });
}

/**
 * Checked against the current state, because the merchant may have changed since. `decide` decides the change as if
 * requested now.
 */
export function applyChange(
  { changeId, nowSec, floor, tolerance }: Of<'ApplyChange'>,
  context: MerchantContext,
  decide: (due: MerchantCommand) => Decision<MerchantEvent>,
): Decision<MerchantEvent> {
  const pending = Object.hasOwn(context.pendingChanges, changeId) ? context.pendingChanges[changeId] : undefined;
  if (!pending) return accept();
  if (nowSec < pending.takesEffectAtSec) return refuse('conflict', 'the change is still delayed');
  const decision = decide(commandOf(pending.change, { floor, tolerance }));
  const applied = (refusal: string | null): MerchantEvent => ({
    type: 'MerchantChangeApplied',
    data: { ...subjectOf(context), changeId, refusal },
  });
  return decision.ok
    ? accept<MerchantEvent>(...decision.events, applied(null))
    : accept(applied(decision.refusal.message));
}

function commandOf(change: GuardedChange, bounds: PolicyBounds): MerchantCommand {
  switch (change.kind) {
    case 'webhook_endpoint':
      return { type: 'SetWebhook', endpointId: change.endpointId, ...change.set };
    case 'policy':
      return { type: 'SetPolicy', policy: change.policy, ...bounds };
    case 'settlement_address':
      return {
        type: 'SetSettlementAddress',
        network: change.network,
        address: change.address,
        approvers: change.approvers,
      };
    case 'change_delay':
      return { type: 'SetChangeDelay', minutes: change.minutes };
  }
}
