model BouncingBall "A ball that falls on the floor and loses a part of its speed at each impact"
  parameter Real e = 0.9 "coefficient of restitution";
  parameter Real g = 9.8 "gravity";
  parameter Real h0 = 10 "initial height";
  Real h(start = h0, fixed = true) "height";
  Real v(start = 0, fixed = true) "velocity";
equation
  der(h) = v;
  der(v) = -g;
  when h < 0 then
    reinit(v, -e*pre(v));
  end when;
  annotation(experiment(StopTime = 20, Tolerance = 1e-10));
end BouncingBall;
