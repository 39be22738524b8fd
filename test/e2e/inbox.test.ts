import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { strayTransfer, waitingStrays } from '../crash/crash-unmatched.ts';
import type { CrashWorld } from '../crash/crash-world.ts';
import { amountNear, BY, createInboxWorld, inboxCases, isBalanced } from '../support/inbox-cases.ts';
import { freePort } from '../support/free-port.ts';
import { operatorsOf } from '../support/operators-of.ts';

/* The inbox as an operator uses it, on a real node. The other networks: `npm run test:outcomes`. */

let adminPort: number;
let world: CrashWorld;

beforeAll(async () => {
  adminPort = await freePort();
  world = await createInboxWorld('ethereum', { ADMIN_PORT: String(adminPort) });
});
afterAll(() => world?.remove());

describe('the inbox', () => {
  it('attaches a unmatched transfer to an open session, which is paid by it once', async () => {
    const { client } = await world.service();
    const amount = amountNear(12);
    const item = await strayTransfer(world, amount);
    expect(item).toMatchObject({ kind: 'insufficient', state: 'open', amount });
    const session = await client.sessions.create({ amount, currency: 'USDT', order_id: `again-${amount}` });
    const args = { transfer: item.id, session: session.id, ...BY };
    expect(await world.admin('inbox.attach', { ...args, dryRun: true })).toMatchObject({
      dry_run: true,
      state: 'open',
    });
    expect((await client.sessions.get(session.id)).payment_status).toBe('unpaid');
    expect(await world.admin('inbox.attach', args)).toMatchObject({ state: 'attached', target: session.id });
    const paid = await client.sessions.get(session.id);
    expect(paid).toMatchObject({ payment_status: 'paid', received: amount, refundable: amount });
    expect((await client.sessions.get(item.session_id)).refundable).toBe('0.00');
    await expect(world.admin('inbox.attach', args)).rejects.toThrow(/attached to .* by ada; undo that first/);
    await expect(world.admin('inbox.undo', { transfer: item.id, ...BY })).rejects.toThrow(
      `the session ${session.id} is paid with it`,
    );
    expect(await waitingStrays(world)).toEqual([]);
    expect(await isBalanced(world)).toBe(true);
  });

  it('names what is wrong with a request', async () => {
    const refusals = async (command: string, args: Record<string, string>, words: string) =>
      expect(world.admin(command, args)).rejects.toThrow(words);
    await refusals('inbox.show', { transfer: 'x' }, 'transfer is not the id of a transfer');
    await refusals('inbox.show', { transfer: `ethereum:0x${'1'.repeat(64)}:0` }, 'no such transfer');
    await refusals('inbox.list', { state: 'closed' }, 'state must be unresolved or resolved');
    await refusals('inbox.list', { cursor: 'AAAA' }, 'cursor is not from a previous page');
    const { id: transfer } = await strayTransfer(world, amountNear(13));
    await refusals('inbox.return', { transfer, reason: 'x' }, 'actor is missing');
    // Approvers read who proposed the return, and the signer takes no such name.
    await refusals('inbox.return', { transfer, reason: 'x', actor: 'ada  byron' }, 'actor must be');
    await refusals('inbox.attach', { transfer, session: 'cs_x', ...BY }, 'session is not a session id');
    await refusals(
      'inbox.record',
      { network: 'ethereum', tx: `0x${'1'.repeat(64)}`, logIndex: '0', ...BY },
      'there is no transfer of our coins',
    );
  });

  it('is the same over HTTP, with the operator’s token only', async () => {
    const url = `http://127.0.0.1:${adminPort}/admin/inbox?network=ethereum&limit=1`;
    expect((await fetch(url)).status).toBe(401);
    const { token } = operatorsOf(world.dataDir).create('ada', 'viewer', 0);
    const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    expect(await answer.json()).toMatchObject({ transfers: [{ kind: 'insufficient', network: 'ethereum' }] });
  });

  /** A part of `npm run test:crash`, which kills at every point on every network. */
  it('pays a transfer back to its sender once, wherever the process is killed', async () => {
    const points = ['inbox-after-return-request'];
    expect(await world.through('return', points)).toMatchObject({ reached: points, transfers: 1, violation: null });
  });

  inboxCases(() => world);
});
