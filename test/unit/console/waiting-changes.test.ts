import { afterEach, describe, expect, it } from 'vitest';
import type { ConsoleDeps } from '../../../src/console/deps.ts';
import type { PendingChangeOverview } from '../../../src/features/merchants/overview.ts';
import { ConsoleWorld, POLICY, SHOP, termsIn, type TestPerson } from '../../support/console-world.ts';

const URL_CHANGE: PendingChangeOverview = {
  change_id: 'chg_1',
  setting: 'webhook_endpoint',
  change: { endpoint_id: 'we_1', url: 'https://evil.example/<b>' },
  ...{ requested_by: 'merchant:mer_shop', requested_at: 1_800_000_000, takes_effect_at: 1_800_086_400 },
};

let world: ConsoleWorld;
afterEach(() => world.close());

/** A shop that holds what waits, as the directory of merchants does. */
async function shopWith(
  waiting: PendingChangeOverview[],
  waits = false,
): Promise<{ readonly admin: TestPerson; readonly withdrawn: string[] }> {
  const withdrawn: string[] = [];
  const overview = () => ({
    id: SHOP.id,
    name: SHOP.name,
    keys: [],
    webhook: null,
    further_webhooks: [],
    domains: [],
    policy: POLICY,
    logo: null,
    ...{ change_delay_minutes: waits ? 1_440 : 0, pending_changes: [...waiting] },
  });
  const settings = {
    getMerchant: overview,
    setPolicy: async () => {
      if (waits) waiting.push({ ...URL_CHANGE, change_id: 'chg_2', setting: 'policy', change: { tolerance: '1' } });
      return { ok: true, value: overview() };
    },
    withdrawChange: async (_: string, changeId: string) => {
      const at = waiting.findIndex(({ change_id: id }) => id === changeId);
      if (at < 0) return { ok: false, refusal: { code: 'not_found', message: 'no such change waits' } };
      waiting.splice(at, 1);
      withdrawn.push(changeId);
      return { ok: true, value: overview() };
    },
  };
  world = await ConsoleWorld.start({ settings } as unknown as Partial<ConsoleDeps>);
  return { admin: await world.person('Ada', { role: 'merchant_admin', merchantId: SHOP.id }), withdrawn };
}
const SETTINGS = `/m/${SHOP.id}/settings`;

describe('delayed changes of a merchant', () => {
  it('are shown with change, requester, start and end, also on the webhooks page', async () => {
    const { admin } = await shopWith([
      URL_CHANGE,
      { ...URL_CHANGE, setting: 'policy', change: { networks: ['bsc', 'tron'], tolerance: '3' } },
    ]);
    for (const path of [SETTINGS, `/m/${SHOP.id}/webhooks`]) {
      const { body } = await world.get(path, admin);
      for (const text of [
        'Pending changes',
        'webhook endpoint',
        'merchant:mer_shop',
        '2027-01-15 08:00:00',
        '2027-01-16 08:00:00',
      ])
        expect(body).toContain(text);
      expect(body).toContain('https://evil.example/&lt;b&gt;');
      expect(body).toContain('networks: bsc, tron; tolerance: 3');
    }
  });

  it('are withdrawn with a reason by who may change the settings, and recorded', async () => {
    const { admin, withdrawn } = await shopWith([URL_CHANGE]);
    const to = `${SETTINGS}/changes/withdraw`;
    expect((await world.post(to, admin, { change: 'chg_1' })).status).toBe(400);
    const viewer = await world.person('Vic', { role: 'viewer' });
    expect((await world.get(SETTINGS, viewer)).body).not.toContain('changes/withdraw');
    expect((await world.post(to, viewer, { change: 'chg_1', reason: 'x' })).status).toBe(404);
    expect(withdrawn).toEqual([]);
    const done = await world.post(to, admin, { change: 'chg_1', reason: 'not ours' });
    expect(done.headers['location']).toBe(`${SETTINGS}?done=withdrawn`);
    expect((await world.get(`${SETTINGS}?done=withdrawn`, admin)).body).toContain('The change was withdrawn');
    expect(withdrawn).toEqual(['chg_1']);
    expect(world.actions().at(-1)).toMatchObject({ outcome: 'done', personId: admin.personId });
    expect((await world.post(to, admin, { change: 'chg_1', reason: 'again' })).status).toBe(404);
  });

  it('are not shown as made when they are only requested', async () => {
    const { admin } = await shopWith([], true);
    const done = await world.postSigned(SETTINGS, admin, { tolerance: '1', reason: 'rounding' });
    expect(done.headers['location']).toBe(`${SETTINGS}?done=waits`);
    expect((await world.get(SETTINGS, admin)).body).toContain('1440 minutes');
  });

  it('of the tolerance are signed with old and new value', async () => {
    const { admin } = await shopWith([]);
    expect((await world.get(SETTINGS, admin)).body).toContain('name="tolerancePercent"');
    const asked = await world.post(SETTINGS, admin, { tolerance: '3', tolerancePercent: '2.5', reason: 'exchanges' });
    expect(termsIn(asked.body)!.text).toContain('tolerance: 0 becomes 3');
    expect(termsIn(asked.body)!.text).toContain('tolerancePercent: none becomes 2.5');
    expect((await world.post(SETTINGS, admin, { tolerancePercent: 'none', reason: 'exchanges' })).body).toContain(
      'nothing would change',
    );
  });

  it('are not spoken of where none waits and none would', async () => {
    const { admin } = await shopWith([]);
    expect((await world.get(SETTINGS, admin)).body).not.toContain('Pending changes');
    const done = await world.postSigned(SETTINGS, admin, { tolerance: '1', reason: 'rounding' });
    expect(done.headers['location']).toBe(`${SETTINGS}?done=policy`);
  });
});
