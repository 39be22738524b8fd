import { expect, it } from 'vitest';
import { nodeRandom } from '../../../src/adapters/node/random.ts';
import { webhookCommands } from '../../../src/composition/outside/webhooks.ts';
import type { Core } from '../../../src/composition/core.ts';
import { actorOf, type Caller } from '../../../src/features/shared/merchant-api.ts';
import type { MerchantWebhooks } from '../../../src/features/webhooks/webhooks.ts';
import { adminCommands, type AdminParts } from '../../../src/operator/merchants/merchants.ts';
import type { AdminArguments } from '../../../src/operator/server/commands.ts';
import { decodeEvent } from '../../../src/runtime/commands/codec.ts';
import { MemoryEventStore } from '../../support/memory-event-store.ts';
import { merchantsOf } from '../../support/merchants.ts';
import { BY } from '../../support/by-operator.ts';

const clock = { nowMs: () => 1_800_000_000_000 };

/** The operator's commands over real merchants, and who the newest event of the merchant says did it. */
async function operatorSide() {
  const store = new MemoryEventStore();
  const { directory, handler, merchants } = await merchantsOf(store, clock);
  const callers: Caller[] = [];
  const api = {
    replay: async (caller: Caller) => (callers.push(caller), { ok: true, value: { requested: 0 } }),
  } as unknown as MerchantWebhooks;
  const core = { merchants, directory } as unknown as Core;
  const more = webhookCommands(core, api, nodeRandom);
  const commands = adminCommands({
    core,
    store,
    clock,
    random: nodeRandom,
    testWallet: null,
    projections: {},
    more,
  } as unknown as AdminParts);
  const made = await merchants.registerMerchant(
    {
      name: 'Shop',
      mode: 'test',
      webhookUrl: 'https://shop.example/hook',
    },
    BY,
  );
  if (!made.ok) throw new Error(made.refusal.message);
  const run = (name: string, args: AdminArguments) =>
    commands[name]!({ merchant_id: made.value.id, operator: 'ada', ...args });
  const lastOf = async () => {
    const { event, metadata } = decodeEvent((await store.readStream(`merchant-${made.value.id}`)).at(-1)!);
    return [event.type, metadata.actor];
  };
  return { run, lastOf, callers, handler, id: made.value.id };
}

it('every command that changes webhooks, the policy or what waits records who gave it', async () => {
  const { run, lastOf, callers, handler, id } = await operatorSide();
  const steps: readonly (readonly [string, AdminArguments, string])[] = [
    ['webhook.set', { url: 'https://other.example/hook' }, 'WebhookEndpointSet'],
    ['webhook.add', { url: 'https://books.example/hook', events: 'payment.completed' }, 'WebhookEndpointSet'],
    ['webhook.rotate', {}, 'WebhookSecretRotated'],
    ['webhook.rotate', { activate: true }, 'WebhookSecretRotated'],
    ['merchant.set-policy', { tolerance: '0.5' }, 'PolicySet'],
    ['merchant.set-change-delay', { minutes: '60' }, 'ChangeDelaySet'],
    ['merchant.set-policy', { tolerance: '0.7' }, 'MerchantChangeScheduled'],
  ];
  for (const [name, args, type] of steps) {
    await run(name, args);
    expect(await lastOf(), name).toEqual([type, 'ada']);
  }
  const [waiting] = (await run('merchant.changes', {})) as { change_id: string; requested_by: string }[];
  expect(waiting!.requested_by).toBe('ada');
  expect(await run('merchant.withdraw-change', { change_id: waiting!.change_id })).toEqual([]);
  expect(await lastOf()).toEqual(['MerchantChangeWithdrawn', 'ada']);
  await handler.execute(
    `merchant-${id}`,
    { type: 'SuspendEndpoint', endpointId: (await endpointId(run))!, reason: 'gone' },
    { correlationId: 'c', actor: 'x' },
  );
  await run('webhook.resume', {});
  expect(await lastOf()).toEqual(['WebhookEndpointResumed', 'ada']);
  await run('webhook.replay', { from: '1' });
  expect(callers.map(actorOf)).toEqual(['ada']);
});

it('a delay that is no number of minutes is refused with the field', async () => {
  const { run } = await operatorSide();
  for (const minutes of ['soon', '-1', '1.5', '43201'])
    await expect(run('merchant.set-change-delay', { minutes })).rejects.toThrow(/minutes must be a whole number/);
  await expect(run('merchant.withdraw-change', { change_id: 'chg_none' })).rejects.toThrow('no such pending change');
});

async function endpointId(run: (name: string, args: AdminArguments) => unknown): Promise<string | undefined> {
  return ((await run('webhook.list', {})) as { endpoint_id: string }[])[0]?.endpoint_id;
}
