import { expect, it } from 'vitest';
import { nodeRandom } from '../../../src/adapters/node/random.ts';
import { CommandRefused } from '../../../src/operator/server/commands.ts';
import { adminCommands, type AdminParts } from '../../../src/operator/merchants/merchants.ts';
import type { MerchantPolicy } from '../../../src/domain/events/merchant-events.ts';
import { changeMerchantBody } from '../../../src/http/schemas/merchant.schema.ts';

/** What `quittance merchant set-policy` asks for; throws what the operator would read. */
async function askedFor(options: Readonly<Record<string, string>>): Promise<Partial<MerchantPolicy>> {
  let asked: Partial<MerchantPolicy> | null = null;
  const setPolicy = (_: string, policy: Partial<MerchantPolicy>): Promise<unknown> => {
    asked = policy;
    return Promise.resolve({ ok: true, value: {} });
  };
  const commands = adminCommands({ core: { merchants: { setPolicy } }, random: nodeRandom } as unknown as AdminParts);
  await commands['merchant.set-policy']!({ merchant_id: 'mer_1', ...options });
  return asked!;
}

it.each([
  ['0', 0],
  ['0.5', 50],
  ['0.05', 5],
  ['1', 100],
  ['2.75', 275],
  ['10', 1_000],
  ['10.00', 1_000],
])('accepts a service fee of %s percent', async (percent, serviceFeeBasisPoints) => {
  expect(await askedFor({ serviceFee: percent })).toEqual({ serviceFeeBasisPoints });
});

it.each([
  '',
  ' ',
  '-1',
  '+1',
  '10.01',
  '11',
  '0.005',
  '0.500',
  '1e0',
  '1,5',
  '.5',
  '1.',
  '1%',
  'half',
  'NaN',
  '99999999999999999999',
])('refuses a service fee of "%s" percent and names the option', async (percent) => {
  const refused = await askedFor({ serviceFee: percent }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(CommandRefused);
  expect((refused as Error).message).toBe(
    'service-fee must be a percentage from 0 to 10 with at most 2 decimals, such as 0.5',
  );
});

it('accepts a tolerance in percent as written, and `none` removes it', async () => {
  expect(await askedFor({ tolerancePercent: '0.5' })).toEqual({ tolerancePercent: '0.5' });
  expect(await askedFor({ tolerancePercent: 'none', tolerance: '1' })).toEqual({
    tolerancePercent: null,
    tolerance: '1',
  });
});

it('is for operators: a merchant cannot set its own service fee', () => {
  for (const name of ['service_fee', 'serviceFeeBasisPoints', 'service_fee_basis_points'])
    expect(changeMerchantBody.safeParse({ tolerance: '0.05', [name]: 0 }).success).toBe(false);
  expect(changeMerchantBody.safeParse({ tolerance: '0.05' }).success).toBe(true);
});
