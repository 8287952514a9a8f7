model EventIteration "A chain of Booleans that fall one after the other in one instant"
  Real x(start = 0, fixed = true);
  Boolean first(start = false), second(start = false), third(start = false);
  Integer rounds(start = 0) "how often the last one changed";
equation
  der(x) = 1;
  first = x > 1;
  second = pre(first);
  third = pre(second);
  when third then
    rounds = pre(rounds) + 1;
  end when;
  annotation(experiment(StopTime = 2));
end EventIteration;
