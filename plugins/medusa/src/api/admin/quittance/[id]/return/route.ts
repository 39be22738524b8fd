import { returnMoney } from '../../../../../money.ts';
import type { Answer, Asked } from '../../../../../route-types.ts';

/** Returns what pays nothing. `acknowledge_sender`: a person asked the payer, who can receive at the paying address. */
async function giveBack({ scope, params, body }: Asked, answer: Answer): Promise<void> {
  answer.json({ refunds: await returnMoney(scope, params.id, body?.acknowledge_sender === true) });
}

export { giveBack as POST };
