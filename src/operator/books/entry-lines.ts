import { formatAmount, parseAmount } from '../../domain/money/money.ts';
import { refused } from '../server/commands.ts';

/** `account=amount`, several separated by commas. Throws `CommandRefused`. */
export const linesOf = (text: string, name: 'debit' | 'credit'): readonly { account: string; amount: string }[] =>
  text.split(',').map((line) => {
    const [account = '', amount = '', ...more] = line.split('=').map((part) => part.trim());
    const units = parseAmount(amount) ?? 0n;
    if (account === '' || units <= 0n || more.length > 0)
      return refused(`${name} must be account=amount, several separated by commas, such as expenses:other=10.00`);
    return { account, amount: formatAmount(units) };
  });
