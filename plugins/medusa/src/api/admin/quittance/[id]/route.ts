import { shownMoney } from '../../../../money.ts';
import type { Answer, Asked } from '../../../../route-types.ts';

/** The stablecoin payments of an order, or of a payment collection. */
async function show({ scope, params }: Asked, answer: Answer): Promise<void> {
  answer.json({ sessions: await shownMoney(scope, params.id) });
}

export { show as GET };
